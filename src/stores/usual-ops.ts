import { amount, count, flag, id, list, object, oneOf, someText, text, variant } from "./hot-shapes.ts"

const span = object({ start: count }, { end: count })
const tokens = object({
  input: count,
  output: count,
  reasoning: count,
  cache: object({ read: count, write: count }),
})

const part = variant("type", {
  text: object({ id: id("part"), type: text, text }, { time: span }),
  reasoning: object({ id: id("part"), type: text, text, time: span }),
  "step-start": object({ id: id("part"), type: text }),
  "step-finish": object({ id: id("part"), type: text, reason: text, cost: amount, tokens }),
})

const message = variant("role", {
  user: object({
    id: id("message"),
    role: text,
    time: object({ created: count }),
    agent: text,
    model: object({ providerID: someText, modelID: someText }),
  }),
  assistant: object(
    {
      id: id("message"),
      role: text,
      time: object({ created: count }, { completed: count }),
      parentID: id("message"),
      modelID: text,
      providerID: text,
      agent: text,
      path: object({ cwd: text, root: text }),
      cost: amount,
      tokens,
    },
    { finish: text },
  ),
})

/** An operation of an answer. */
export const usualOp = variant("op", {
  "part.put": object(
    { op: text, sessionID: id("session"), messageID: id("message"), part },
    { grown: oneOf("keep") },
  ),
  "message.append": object(
    { op: text, sessionID: id("session"), message },
    { parts: list(part, 8), sealed: flag },
  ),
  "message.seal": object({ op: text, sessionID: id("session"), messageID: id("message") }, { message }),
  "inbox.take": object({ op: text, sessionID: id("session"), itemID: text }),
  "session.patch": object(
    { op: text, sessionID: id("session") },
    {
      set: object({}, { title: text, time: object({ updated: count }) }),
      add: object({ cost: amount, tokens }),
    },
  ),
})
