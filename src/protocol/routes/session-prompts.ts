import { z } from "zod"
import { MessageID } from "../id/id.ts"
import { JsonObject } from "../json.ts"
import { PermissionReply } from "../permission.ts"
import { HistoryItemSchema } from "../row-schema.ts"
import { route } from "./route.ts"
import {
  Accepted,
  CompactionShape,
  name,
  ofSession,
  PromptBody,
  promptFields,
  questionParams,
  ReplyShape,
} from "./shapes.ts"

/** Routes that send prompts, commands and replies to one session. */
export const sessionPromptRoutes = {
  prompt: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/prompt",
      summary: "Sends a prompt. The answer means that the prompt is stored and survives a crash.",
      body: PromptBody,
      answer: Accepted,
      status: 202,
      errors: ["not_found", "conflict", "denied", "unavailable"],
    }),
  ),
  ask: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/ask",
      summary:
        "Sends a prompt and waits for the reply. If the model fails, the message in the answer says so; the status is still 200.",
      body: PromptBody,
      answer: ReplyShape,
      kind: "slow",
      errors: ["not_found", "conflict", "denied", "unavailable"],
    }),
  ),
  command: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/command",
      summary:
        "Fills the template of a configured command with these arguments and sends the result as a prompt.",
      body: z.strictObject({ name, args: z.string().optional(), ...promptFields }),
      answer: Accepted,
      status: 202,
      errors: ["not_found", "conflict", "denied", "unavailable"],
    }),
  ),
  shell: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/shell",
      summary: "Runs a shell command in the session for the person who sent it, without the model.",
      body: z.strictObject({
        command: z.string().min(1).max(100_000),
        agent: name.optional(),
        messageID: MessageID.optional(),
      }),
      answer: HistoryItemSchema,
      kind: "slow",
      errors: ["not_found", "conflict", "denied"],
    }),
  ),
  append: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/append",
      summary: "Appends a message to the history without calling a model.",
      body: z.strictObject({
        id: MessageID.optional(),
        role: z.enum(["user", "assistant", "tool"]),
        text: z.string().optional(),
        synthetic: z.boolean().optional(),
        parts: z.array(JsonObject).optional(),
        tool: name.optional(),
        callID: name.optional(),
        input: JsonObject.optional(),
        output: z.string().optional(),
        error: z.string().optional(),
        title: z.string().optional(),
      }),
      answer: HistoryItemSchema,
      status: 201,
      errors: ["not_found", "conflict", "denied"],
    }),
  ),
  abort: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/abort",
      summary: "Stops the run of the session and of all its descendants. Does nothing if nothing runs.",
      isBodyOptional: true,
      body: z.strictObject({ reason: z.string().max(10_000).optional() }),
      kind: "none",
      errors: ["not_found"],
    }),
  ),
  compact: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/compact",
      summary: "Summarises the older part of the history for the model. The history itself stays complete.",
      isBodyOptional: true,
      body: z.strictObject({ instructions: z.string().max(10_000).optional() }),
      answer: CompactionShape,
      kind: "slow",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
  reply: route({
    method: "POST",
    path: "/sessions/:id/questions/:permissionID",
    summary: "Answers a permission question of the session or of one of its descendants.",
    params: questionParams,
    body: z.strictObject({ reply: PermissionReply, feedback: z.string().max(100_000).optional() }),
    kind: "none",
    errors: ["not_found", "conflict"],
  }),
}
