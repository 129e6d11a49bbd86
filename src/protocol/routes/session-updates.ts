import { z } from "zod"
import { MessageID, PartID, SessionID } from "../id/id.ts"
import { Session } from "../session.ts"
import { route } from "./route.ts"
import { BudgetShape, modelName, name, ofSession, RemovalShape, RevertedShape, rules } from "./shapes.ts"

/** Routes that change, fork, share or remove one session. */
export const sessionUpdateRoutes = {
  update: route(
    ofSession({
      method: "PATCH",
      path: "/sessions/:id",
      summary: "Sets single fields of the session. The value null removes a field.",
      body: z.strictObject({
        title: z.string().max(10_000).optional(),
        agent: name.nullable().optional(),
        model: modelName.nullable().optional(),
        permission: rules.nullable().optional(),
        maxHistory: z.number().int().positive().nullable().optional(),
        budget: z.number().nonnegative().nullable().optional(),
        key: z.string().min(1).max(512).nullable().optional(),
      }),
      answer: Session,
      errors: ["not_found", "conflict"],
    }),
  ),
  setBudget: route(
    ofSession({
      method: "PUT",
      path: "/sessions/:id/budget",
      summary: "Sets how much the session may cost, in dollars. The value null means no limit.",
      body: z.strictObject({ budget: z.number().nonnegative().nullable() }),
      answer: BudgetShape,
      errors: ["not_found"],
    }),
  ),
  remove: route(
    ofSession({
      method: "DELETE",
      path: "/sessions/:id",
      summary:
        "Removes the session and all its descendants. The answer lists what stays because forks share it.",
      answer: RemovalShape,
      errors: ["not_found"],
    }),
  ),
  fork: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/fork",
      summary: "Makes a new session that shares the history: all of it, or the part before a message.",
      isBodyOptional: true,
      body: z.strictObject({ messageID: MessageID.optional(), title: z.string().max(10_000).optional() }),
      answer: Session,
      status: 201,
      errors: ["not_found", "conflict"],
    }),
  ),
  revert: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/revert",
      summary:
        "Moves the session and its files back to before a message or part. The next prompt makes it permanent.",
      body: z.strictObject({ messageID: MessageID, partID: PartID.optional() }),
      answer: RevertedShape,
      errors: ["not_found", "conflict"],
    }),
  ),
  unrevert: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/unrevert",
      summary: "Undoes a revert and restores the files.",
      answer: RevertedShape,
      errors: ["not_found", "conflict"],
    }),
  ),
  archive: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/archive",
      summary: "Archives the session and all its descendants; `archived: false` restores all of them.",
      isBodyOptional: true,
      body: z.strictObject({ archived: z.boolean().optional() }),
      answer: Session,
      errors: ["not_found"],
    }),
  ),
  redact: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/redact",
      summary:
        "Removes the content of a part, a message or the whole session for good, in every session that shares it.",
      body: z.strictObject({
        messageID: MessageID.optional(),
        partID: PartID.optional(),
        all: z.literal(true).optional().describe("Needed to redact the whole session"),
      }),
      answer: z.object({ messages: z.number(), parts: z.number(), sessions: z.array(SessionID) }),
      errors: ["not_found", "conflict"],
    }),
  ),
  share: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/share",
      summary: "Publishes a public page of the session, or changes what the page shows.",
      isBodyOptional: true,
      body: z.strictObject({
        reasoning: z.boolean().optional().describe("The page also shows reasoning"),
        tools: z.boolean().optional().describe("The page also shows the input and output of tools"),
      }),
      answer: Session,
      errors: ["not_found", "denied"],
    }),
  ),
  unshare: route(
    ofSession({
      method: "DELETE",
      path: "/sessions/:id/share",
      summary: "Removes the public page at once.",
      answer: Session,
      errors: ["not_found"],
    }),
  ),
}
