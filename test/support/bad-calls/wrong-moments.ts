import type { Op } from "../../../src/stores/commit.ts"
import type { Store } from "../../../src/stores/store.ts"
import { type Fixture, newSession } from "../bad-input-fixture.ts"
import { sampleUser } from "../samples.ts"
import { type BadCall, freshSegment, nothing, part, title, underFence, unknownSession } from "./bad-call.ts"

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
          {
            op: "session.create",
            session: { ...newSession(unknownSession), key: "taken" },
            segment: freshSegment,
          },
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
          { op: "session.patch", sessionID: unknownSession, set: title },
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

export const wrongMoments: readonly BadCall[] = [...fences, ...openAndSealed]
