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

/** What is said to one session, and answered. */
export const talkingRoutes = {
  prompt: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/prompt",
      summary: "Sends a prompt. The answer says that it is kept, whatever happens from then on.",
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
        "Sends a prompt and waits for the reply. A failure of the model is in the message, not an error.",
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
      summary: "Sends what a command of the config makes of these arguments.",
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
      summary: "Runs a command of the person's own in the session, without the model.",
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
      summary: "Adds a message without asking a model.",
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
      summary: "Stops what runs in it and below it. Does nothing if nothing runs.",
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
      summary: "Summarises the history but for its recent end. Nothing is lost.",
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
    summary: "Answers a question of the session, or of one below it.",
    params: questionParams,
    body: z.strictObject({ reply: PermissionReply, feedback: z.string().max(100_000).optional() }),
    kind: "none",
    errors: ["not_found", "conflict"],
  }),
}
