import type { InboxItem } from "../../../src/protocol/index.ts"
import type { Op } from "../../../src/stores/commit.ts"
import { abort, type BadCall, part, title, underFence } from "./bad-call.ts"

export const malformed: readonly BadCall[] = [
  ["a commit has no operations", "invalid", (store) => store.commit({ ops: [] })],
  [
    "an operation is unknown",
    "invalid",
    (store) => store.commit({ ops: [{ op: "session.rename" } as unknown as Op] }),
  ],
  [
    "a part has no such type",
    "invalid",
    (store, fixture) =>
      underFence(store, fixture, {
        op: "part.put",
        sessionID: fixture.busy,
        messageID: fixture.busyMessage,
        part: { ...part, type: "prose" } as unknown as typeof part,
      }),
  ],
  [
    "an id is not one",
    "invalid",
    (store) => store.commit({ ops: [{ op: "session.patch", sessionID: "'; drop", set: title }] }),
  ],
  [
    "a field may not be set",
    "invalid",
    (store, { calm }) =>
      store.commit({
        ops: [{ op: "session.patch", sessionID: calm, set: { seq: 7 } as unknown as typeof title }],
      }),
  ],
  [
    "an item has no such type",
    "invalid",
    (store, { calm }) => store.admit({ ...abort(calm), type: "wish" } as unknown as InboxItem),
  ],
  ["a limit is too small", "invalid", (store) => store.sessions({ limit: 0 })],
  ["a limit is too large", "invalid", (store, { calm }) => store.history(calm, { limit: 1001 })],
  [
    "a cursor is of another store",
    "invalid",
    (store, { calm }) => store.changes({ sessionID: calm }, "elsewhere.1"),
  ],
  ["a page cursor is nonsense", "invalid", (store) => store.sessions({ cursor: "nonsense" })],
]
