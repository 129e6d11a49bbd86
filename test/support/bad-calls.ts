import type { ErrorCode, InboxItem } from "../../src/protocol/index.ts"
import type { Op } from "../../src/stores/commit.ts"
import type { Store } from "../../src/stores/store.ts"
import { type Fixture, newSession } from "./bad-input-fixture.ts"
import { plainId } from "./ids.ts"
import { sampleUser } from "./samples.ts"

/** What was wrong, the code that it must give, and the call. */
export type BadCall = [
  what: string,
  code: ErrorCode,
  call: (store: Store, fixture: Fixture) => Promise<unknown>,
]

const nobody = plainId("session", 999)
const nothing = plainId("message", 999)
const nowhere = plainId("segment", 999)
const freshSegment = plainId("segment", 998)
const part = { id: plainId("part", 999), type: "text" as const, text: "bad" }
const title = { title: "bad" }

const underFence = (store: Store, { busy, fence }: Fixture, op: Op) =>
  store.commit({ ops: [op], fences: { [busy]: fence } })
const abort = (sessionID: string): InboxItem => ({ id: "abort:1", sessionID, time: 1, type: "abort" })
const fork = (sourceID: string, rest: { left?: string; messageID?: string; segment?: string }): Op => ({
  op: "session.fork",
  sourceID,
  session: newSession(nobody),
  segment: freshSegment,
  ...rest,
})

const unknownIds: BadCall[] = [
  ["an unknown session is read", "not_found", (store) => store.session(nobody)],
  ["the history of an unknown session is read", "not_found", (store) => store.history(nobody)],
  ["the todos of an unknown session are read", "not_found", (store) => store.todos(nobody)],
  ["the inbox of an unknown session is read", "not_found", (store) => store.inbox(nobody)],
  [
    "the permissions of an unknown session are read",
    "not_found",
    (store) => store.permissions({ sessionID: nobody }),
  ],
  [
    "the changes of an unknown session are read",
    "not_found",
    (store) => store.changes({ sessionID: nobody }),
  ],
  [
    "an unknown session is patched",
    "not_found",
    (store) => store.commit({ ops: [{ op: "session.patch", sessionID: nobody, set: title }] }),
  ],
  ["an item is admitted to an unknown session", "not_found", (store) => store.admit(abort(nobody))],
  ["an unknown session is claimed", "not_found", (store) => store.claim(nobody)],
  ["an unknown session is removed", "not_found", (store) => store.remove(nobody)],
  ["an unknown session is redacted", "not_found", (store) => store.redact({ sessionID: nobody })],
  [
    "an unknown session is forked",
    "not_found",
    (store) => store.commit({ ops: [fork(plainId("session", 997), {})] }),
  ],
  [
    "a child is made of an unknown session",
    "not_found",
    (store) =>
      store.commit({
        ops: [
          {
            op: "session.create",
            session: { ...newSession(nobody), parentID: plainId("session", 997) },
            segment: freshSegment,
          },
        ],
      }),
  ],
  [
    "an unknown message is read",
    "not_found",
    (store, { calm }) => store.history(calm, { messageID: nothing }),
  ],
  [
    "a session is forked at an unknown message",
    "not_found",
    (store, { calm }) => store.commit({ ops: [fork(calm, { messageID: nothing })] }),
  ],
  [
    "an unknown message is redacted",
    "not_found",
    (store, { calm }) => store.redact({ sessionID: calm, messageID: nothing }),
  ],
  [
    "a session is reverted to an unknown message",
    "not_found",
    (store, { calm }) =>
      store.commit({
        ops: [{ op: "session.patch", sessionID: calm, set: { revert: { messageID: nothing } } }],
      }),
  ],
  [
    "a note is put on an unknown message",
    "not_found",
    (store, { calm }) =>
      store.commit({
        ops: [{ op: "note.put", sessionID: calm, messageID: nothing, key: "summary", value: 1 }],
      }),
  ],
  [
    "a part is put into an unknown message",
    "not_found",
    (store, fixture) =>
      underFence(store, fixture, { op: "part.put", sessionID: fixture.busy, messageID: nothing, part }),
  ],
  [
    "a piece is added to an unknown part",
    "not_found",
    (store, fixture) =>
      underFence(store, fixture, {
        op: "piece.add",
        sessionID: fixture.busy,
        messageID: fixture.busyMessage,
        partID: part.id,
        field: "text",
        offset: 0,
        text: "bad",
      }),
  ],
  [
    "an unknown part is redacted",
    "not_found",
    (store, { calm, calmMessage }) =>
      store.redact({ sessionID: calm, messageID: calmMessage, partID: part.id }),
  ],
  [
    "an unknown item is taken",
    "not_found",
    (store, fixture) =>
      underFence(store, fixture, { op: "inbox.take", sessionID: fixture.busy, itemID: "nothing" }),
  ],
  ["an unknown blob is read", "not_found", (store) => store.blobs.get("0".repeat(64))],
]

const foreignSegments: BadCall[] = [
  [
    "a tail is read that the session never left",
    "not_found",
    (store, { calm }) => store.history(calm, { left: nowhere }),
  ],
  [
    "a tail of another session is read",
    "not_found",
    (store, { busy, calmLeft }) => store.history(busy, { left: calmLeft }),
  ],
  [
    "a tail of another session is forked",
    "not_found",
    (store, { busy, calmLeft }) => store.commit({ ops: [fork(busy, { left: calmLeft })] }),
  ],
  [
    "the present segment is read as a tail",
    "not_found",
    (store, { calm, calmSegment }) => store.history(calm, { left: calmSegment }),
  ],
  [
    "a session is made on a segment in use",
    "conflict",
    (store, { calmSegment }) =>
      store.commit({ ops: [{ op: "session.create", session: newSession(nobody), segment: calmSegment }] }),
  ],
  [
    "a fork is made on a segment in use",
    "conflict",
    (store, { calm, calmLeft }) => store.commit({ ops: [fork(calm, { segment: calmLeft })] }),
  ],
]

const append = (sessionID: string): Op => ({
  op: "message.append",
  sessionID,
  message: sampleUser(nothing, 1),
  sealed: true,
})
const fences: BadCall[] = [
  ["a run commits without a fence", "conflict", (store, { calm }) => store.commit({ ops: [append(calm)] })],
  [
    "a run commits with the fence of a lease that is not there",
    "conflict",
    (store, { calm }) => store.commit({ ops: [append(calm)], fences: { [calm]: 1 } }),
  ],
  [
    "a run commits with an old fence",
    "conflict",
    (store, { busy, busyMessage, fence }) =>
      store.commit({
        ops: [{ op: "message.seal", sessionID: busy, messageID: busyMessage }],
        fences: { [busy]: fence + 1 },
      }),
  ],
  ["a session is claimed that another run holds", "conflict", (store, { busy }) => store.claim(busy)],
  [
    "a lease is renewed that was lost",
    "conflict",
    (store, { busy, fence }) =>
      store.renew({ sessionID: busy, fence: fence + 1, expiresAt: 1, durationMs: 1 }),
  ],
  [
    "a commit expects another seq",
    "conflict",
    (store, { calm }) =>
      store.commit({
        ops: [{ op: "session.patch", sessionID: calm, set: title }],
        expectSeq: { [calm]: 99 },
      }),
  ],
  [
    "a session is made under an id in use",
    "conflict",
    (store, { calm }) =>
      store.commit({ ops: [{ op: "session.create", session: newSession(calm), segment: freshSegment }] }),
  ],
  [
    "a session is made under a key in use",
    "conflict",
    (store) =>
      store.commit({
        ops: [
          { op: "session.create", session: { ...newSession(nobody), key: "taken" }, segment: freshSegment },
        ],
      }),
  ],
]

const openAndSealed: BadCall[] = [
  [
    "a part is put into a sealed message",
    "invalid",
    async (store, { calm, calmMessage }) => {
      await using lease = await held(store, calm)
      await store.commit({
        ops: [{ op: "part.put", sessionID: calm, messageID: calmMessage, part }],
        fences: lease.fences,
      })
    },
  ],
  [
    "a piece is added to a sealed message",
    "invalid",
    async (store, { calm, calmMessage, calmPart }) => {
      await using lease = await held(store, calm)
      const piece = {
        sessionID: calm,
        messageID: calmMessage,
        partID: calmPart,
        field: "text" as const,
        offset: 8,
        text: "bad",
      }
      await store.commit({ ops: [{ op: "piece.add", ...piece }], fences: lease.fences })
    },
  ],
  [
    "a piece begins after the end",
    "conflict",
    (store, fixture) => underFence(store, fixture, pieceAt(fixture, 6)),
  ],
  [
    "a piece begins before the end",
    "conflict",
    (store, fixture) => underFence(store, fixture, pieceAt(fixture, 0)),
  ],
  [
    "a piece is for a field that does not grow",
    "invalid",
    (store, fixture) => underFence(store, fixture, { ...pieceAt(fixture, 5), field: "output" } as Op),
  ],
  [
    "a message is appended after an open one",
    "conflict",
    (store, fixture) => underFence(store, fixture, append(fixture.busy)),
  ],
  [
    "a note is put on an open message",
    "invalid",
    (store, { busy, busyMessage }) =>
      store.commit({
        ops: [{ op: "note.put", sessionID: busy, messageID: busyMessage, key: "summary", value: 1 }],
      }),
  ],
  [
    "an open message is redacted",
    "conflict",
    (store, { busy, busyMessage }) => store.redact({ sessionID: busy, messageID: busyMessage }),
  ],
  [
    "a good operation comes with a bad one",
    "not_found",
    (store, { calm }) =>
      store.commit({
        ops: [
          { op: "session.patch", sessionID: calm, set: title, add: { cost: 1 } },
          { op: "session.patch", sessionID: nobody, set: title },
        ],
      }),
  ],
]

function pieceAt({ busy, busyMessage, busyPart }: Fixture, offset: number): Op {
  return {
    op: "piece.add",
    sessionID: busy,
    messageID: busyMessage,
    partID: busyPart,
    field: "text",
    offset,
    text: "bad",
  }
}

async function held(store: Store, sessionID: string) {
  const lease = await store.claim(sessionID)
  return { fences: { [sessionID]: lease.fence }, [Symbol.asyncDispose]: () => store.release(lease) }
}

const malformed: BadCall[] = [
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

export const badCalls: readonly BadCall[] = [
  ...unknownIds,
  ...foreignSegments,
  ...fences,
  ...openAndSealed,
  ...malformed,
]
