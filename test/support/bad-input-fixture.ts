import type { Op } from "../../src/stores/commit.ts"
import type { Store } from "../../src/stores/store.ts"
import { plainId } from "./ids.ts"
import { sampleAssistant, sampleUser } from "./samples.ts"

export interface Fixture {
  /** An idle session: two sealed messages, and a left tail of a revert. */
  calm: string
  calmMessage: string
  calmPart: string
  calmSegment: string
  calmLeft: string
  /** A running session: an open message with a text of five characters. */
  busy: string
  busyMessage: string
  busyPart: string
  fence: number
}

export const newSession = (id: string) => ({
  id,
  projectID: "one",
  directory: "/project",
  title: "a fixture",
  version: "0.1.0",
  time: { created: 1, updated: 1 },
})

/** A small store with one of everything that a bad call can name wrongly. */
export async function makeFixture(store: Store): Promise<Fixture> {
  const fixture = {
    calm: plainId("session", 1),
    calmMessage: plainId("message", 1),
    calmPart: plainId("part", 1),
    calmSegment: plainId("segment", 3),
    calmLeft: plainId("segment", 1),
    busy: plainId("session", 2),
    busyMessage: plainId("message", 4),
    busyPart: plainId("part", 4),
  }
  const { calm, busy } = fixture
  const text = (id: string, value: string) => ({ id, type: "text" as const, text: value })
  const say = (sessionID: string, count: number): Op => ({
    op: "message.append",
    sessionID,
    message: sampleUser(plainId("message", count), 1),
    parts: [text(plainId("part", count), `prompt ${count}`)],
    sealed: true,
  })
  await store.commit({
    ops: [
      { op: "session.create", session: newSession(calm), segment: fixture.calmLeft },
      say(calm, 1),
      say(calm, 2),
      say(calm, 3),
      { op: "history.move", sessionID: calm, segment: fixture.calmSegment, messageID: plainId("message", 3) },
    ],
  })
  await store.commit({
    ops: [
      {
        op: "session.create",
        session: { ...newSession(busy), key: "taken" },
        segment: plainId("segment", 2),
      },
      say(busy, 5),
      {
        op: "message.append",
        sessionID: busy,
        message: sampleAssistant(fixture.busyMessage, plainId("message", 5), 1),
        parts: [text(fixture.busyPart, "")],
      },
    ],
  })
  const { fence } = await store.claim(busy)
  const place = { sessionID: busy, messageID: fixture.busyMessage, partID: fixture.busyPart }
  await store.commit({
    ops: [{ op: "piece.add", ...place, field: "text", offset: 0, text: "hello" }],
    fences: { [busy]: fence },
  })
  return { ...fixture, fence }
}
