import { z } from "zod"
import { MessageID, PartID, SessionID } from "../id/id.ts"
import { Session } from "../session.ts"
import { route } from "./route.ts"
import { BudgetShape, modelName, name, ofSession, RemovalShape, RevertedShape, rules } from "./shapes.ts"

/** What is changed of one session, or made of it. */
export const changingRoutes = {
  update: route(
    ofSession({
      method: "PATCH",
      path: "/sessions/:id",
      summary: "Sets single fields; null removes one.",
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
      summary: "Sets how much the session may cost, in dollars; null is no limit.",
      body: z.strictObject({ budget: z.number().nonnegative().nullable() }),
      answer: BudgetShape,
      errors: ["not_found"],
    }),
  ),
  remove: route(
    ofSession({
      method: "DELETE",
      path: "/sessions/:id",
      summary: "Removes the session with everything below it, and says what stays because forks share it.",
      answer: RemovalShape,
      errors: ["not_found"],
    }),
  ),
  fork: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/fork",
      summary: "A new session with the same history: the whole, or what came before a message.",
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
        "Goes back to before a message, or one of its parts, with the files; the next prompt makes it real.",
      body: z.strictObject({ messageID: MessageID, partID: PartID.optional() }),
      answer: RevertedShape,
      errors: ["not_found", "conflict"],
    }),
  ),
  unrevert: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/unrevert",
      summary: "Takes a revert back, with the files.",
      answer: RevertedShape,
      errors: ["not_found", "conflict"],
    }),
  ),
  archive: route(
    ofSession({
      method: "POST",
      path: "/sessions/:id/archive",
      summary: "Puts it away with everything below it; `archived: false` brings all of it back.",
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
        "Takes content away for good, in every session that shares it: of a part, a message, or the whole session.",
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
      summary: "Makes a public page of the session, or changes what it shows.",
      isBodyOptional: true,
      body: z.strictObject({
        reasoning: z.boolean().optional().describe("Shows reasoning too"),
        tools: z.boolean().optional().describe("Shows what tools were given and gave back too"),
      }),
      answer: Session,
      errors: ["not_found", "denied"],
    }),
  ),
  unshare: route(
    ofSession({
      method: "DELETE",
      path: "/sessions/:id/share",
      summary: "Ends the public page at once.",
      answer: Session,
      errors: ["not_found"],
    }),
  ),
}
