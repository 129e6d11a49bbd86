import type { ErrorCode, InboxItem } from "../../../src/protocol/index.ts"
import type { Op } from "../../../src/stores/commit.ts"
import type { Store } from "../../../src/stores/store.ts"
import { type Fixture, newSession } from "../bad-input-fixture.ts"
import { plainId } from "../ids.ts"

/** What is wrong, the expected error code, and the call. */
export type BadCall = [
  what: string,
  code: ErrorCode,
  call: (store: Store, fixture: Fixture) => Promise<unknown>,
]

/** Ids that do not exist in the store. */
export const unknownSession = plainId("session", 999)
export const nothing = plainId("message", 999)
export const nowhere = plainId("segment", 999)
export const freshSegment = plainId("segment", 998)
export const part = { id: plainId("part", 999), type: "text" as const, text: "bad" }
export const title = { title: "bad" }

export const underFence = (store: Store, { busy, fence }: Fixture, op: Op) =>
  store.commit({ ops: [op], fences: { [busy]: fence } })
export const abort = (sessionID: string): InboxItem => ({ id: "abort:1", sessionID, time: 1, type: "abort" })
export const fork = (
  sourceID: string,
  rest: { left?: string; messageID?: string; segment?: string },
): Op => ({
  op: "session.fork",
  sourceID,
  session: newSession(unknownSession),
  segment: freshSegment,
  ...rest,
})
