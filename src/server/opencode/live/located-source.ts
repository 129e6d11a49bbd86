import type { Frame, Subscription } from "../../../stream/hub.ts"
import type { Source } from "../../streams/streams.ts"
import { sessionOf } from "../../streams/with-statuses.ts"
import type { SessionLocations } from "./session-locations.ts"

/** A subscription. Before a batch is given, the locations of its sessions are loaded. */
export class LocatedSource implements Source<Frame> {
  readonly ready: Promise<void>
  readonly #subscription: Subscription
  readonly #locations: SessionLocations

  constructor(subscription: Subscription, locations: SessionLocations) {
    this.#subscription = subscription
    this.#locations = locations
    this.ready = subscription.ready
  }

  async *batches(): AsyncGenerator<Frame[], void, undefined> {
    for await (const frames of this.#subscription.batches()) {
      await this.#locations.load(frames.flatMap(sessionsOf))
      yield withoutSentAgain(frames)
    }
  }

  taken(): Promise<void> | undefined {
    return this.#subscription.taken()
  }

  close(): void {
    this.#subscription.close()
  }
}

function sessionsOf(frame: Frame): string[] {
  const sessionID = "event" in frame ? sessionOf(frame.event) : undefined
  return sessionID === undefined ? [] : [sessionID]
}

/**
 * Leaves out the removal of a message that is sent again in the same batch. OpenCode's terminal replaces messages and
 * parts by their id, and fails on the removal of a message of a session that it has not opened.
 */
function withoutSentAgain(frames: Frame[]): Frame[] {
  const sent = new Set<string>()
  const kept: Frame[] = []
  for (const frame of frames.toReversed()) {
    if ("event" in frame) {
      const { type, properties } = frame.event
      if (type === "message.updated") sent.add(properties.info.id)
      if (type === "message.removed" && sent.has(properties.messageID)) continue
    }
    kept.push(frame)
  }
  return kept.length === frames.length ? frames : kept.reverse()
}
