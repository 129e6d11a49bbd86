import { expect, test } from "vitest"
import type { Message, StemmaEvent } from "../../../protocol/index.ts"
import type { Frame, Subscription } from "../../../stream/hub.ts"
import { LocatedSource } from "./located-source.ts"
import { SessionLocations } from "./session-locations.ts"

const sessionID = "ses_1"
const removed = (messageID: string): Frame => ({
  event: { type: "message.removed", properties: { sessionID, messageID } },
})
const updated = (id: string): Frame => {
  const info = { id, sessionID, role: "user" } as unknown as Message
  return { event: { type: "message.updated", properties: { info } } as StemmaEvent }
}

/** What a reader gets of these batches. */
async function given(...batches: Frame[][]): Promise<Frame[][]> {
  const subscription = {
    ready: Promise.resolve(),
    async *batches() {
      yield* batches
    },
  } as unknown as Subscription
  const reader = { session: async () => ({ directory: "/d", projectID: "p" }) }
  const locations = new SessionLocations(reader as never)
  const all: Frame[][] = []
  for await (const frames of new LocatedSource(subscription, locations).batches()) {
    expect(locations.get(sessionID)).toEqual({ directory: "/d", projectID: "p" })
    all.push(frames)
  }
  return all
}

test("a message that is sent again is not removed before, because OpenCode's terminal fails on that", async () => {
  const [a, b, c] = [removed("msg_1"), updated("msg_1"), removed("msg_2")]
  expect(await given([a, b, c])).toEqual([[b, c]])
  expect(await given([b, a])).toEqual([[b, a]])
  expect(await given([a], [b])).toEqual([[a], [b]])
})
