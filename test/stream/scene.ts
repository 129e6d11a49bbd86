import type { PartBody, StemmaEvent } from "../../src/protocol/index.ts"
import type { Op } from "../../src/stores/commit.ts"
import type { Lease, Store } from "../../src/stores/store.ts"
import type { Frame, Hub, SubscribeOptions, Subscription } from "../../src/stream/hub.ts"
import { type Ids, sampleIds } from "../support/ids.ts"
import { waitMsMax } from "../support/run-scene.ts"
import { sampleAssistant, sampleUser } from "../support/samples.ts"

/** A session with an open answer, and the operations of a run on it. */
export interface Writing {
  sessionID: string
  messageID: string
  partID: string
  commit(...ops: Op[]): Promise<unknown>
  /** Sends text at an offset to the hub, live. */
  say(offset: number, delta: string): void
  /** Commits text at an offset. */
  piece(offset: number, text: string): Promise<unknown>
  put(part: PartBody, grown?: "keep"): Promise<unknown>
  seal(): Promise<unknown>
}

export const nowMs = 1_800_000_000_000

export async function createSession(
  store: Store,
  ids: Ids,
  options: { directory?: string; parentID?: string } = {},
): Promise<string> {
  const id = ids.next("session")
  const { directory = "/project", parentID } = options
  const session = {
    id,
    projectID: "one",
    directory,
    parentID,
    title: "alpha",
    version: "0.1.0",
    time: { created: nowMs, updated: nowMs },
  }
  await store.commit({ ops: [{ op: "session.create", session, segment: ids.next("segment") }] })
  return id
}

export async function startWriting(
  parts: { store: Store; hub?: Hub; ids?: Ids },
  options: { sessionID?: string; lease?: Lease } = {},
): Promise<Writing> {
  const { store, hub, ids = sampleIds() } = parts
  const sessionID = options.sessionID ?? (await createSession(store, ids))
  const { fence } = options.lease ?? (await store.claim(sessionID))
  const [userID, messageID, partID] = [ids.next("message"), ids.next("message"), ids.next("part")]
  const field = "text" as const
  const place = { sessionID, messageID, partID, field }
  const writing: Writing = {
    sessionID,
    messageID,
    partID,
    commit: (...ops) => store.commit({ ops, fences: { [sessionID]: fence } }),
    say: (offset, delta) => hub?.delta({ ...place, offset, delta }),
    piece: (offset, text) => writing.commit({ op: "piece.add", ...place, offset, text }),
    put: (part, grown) => writing.commit({ op: "part.put", sessionID, messageID, part, grown }),
    seal: () => {
      const message = sampleAssistant(messageID, userID, nowMs)
      const done = { ...message, finish: "stop", time: { created: nowMs, completed: nowMs + 1 } }
      return writing.commit({ op: "message.seal", sessionID, messageID, message: done })
    },
  }
  const text: PartBody = { id: ids.next("part"), type: "text", text: "Say something." }
  await writing.commit(
    {
      op: "message.append",
      sessionID,
      message: sampleUser(userID, nowMs),
      parts: [text],
      sealed: true,
    },
    { op: "message.append", sessionID, message: sampleAssistant(messageID, userID, nowMs) },
  )
  return writing
}

/** Everything that a subscription has delivered so far. */
export interface Received {
  frames: Frame[]
  subscription: Subscription
  /** Resolves when the iteration ends. */
  done: Promise<void>
  events(): StemmaEvent[]
  /** Events as short lines: their type, and the fields that tests compare. */
  lines(): string[]
  /** The text of a part in a client that stores parts and appends deltas. */
  textOf(partID: string): string
}

export async function subscribe(hub: Hub, options?: SubscribeOptions): Promise<Received> {
  const subscription = hub.subscribe(options)
  const frames: Frame[] = []
  const read = async () => {
    for await (const batch of subscription.batches()) frames.push(...batch)
  }
  const done = read()
  done.catch(() => {})
  const events = () => frames.flatMap((frame) => ("event" in frame ? [frame.event] : []))
  await subscription.ready
  const lines = () => events().map(line)
  return { frames, subscription, done, events, lines, textOf: (partID) => textOf(partID, events()) }
}

function textOf(partID: string, events: readonly StemmaEvent[]): string {
  let text = ""
  for (const { type, properties } of events) {
    if (type === "message.part.updated" && properties.part.id === partID && properties.part.type === "text") {
      text = properties.part.text
    }
    if (type === "message.part.delta" && properties.partID === partID) {
      if (properties.offset !== text.length) throw new Error(`A delta at ${properties.offset} of "${text}"`)
      text += properties.delta
    }
  }
  return text
}

/** Waits for the end of a tick, after all subscribers were notified. */
export async function tick(): Promise<void> {
  for (let ticks = 0; ticks < 2; ticks++) await new Promise((resolve) => setImmediate(resolve))
}

function line(event: StemmaEvent): string {
  const short = event.type.replace("message.", "")
  switch (event.type) {
    case "message.part.updated": {
      const { part } = event.properties
      return `${short} ${part.type === "text" ? `"${part.text}"` : part.type}`
    }
    case "message.part.delta":
      return `${short} ${event.properties.offset} "${event.properties.delta}"`
    case "message.updated": {
      const { info } = event.properties
      return `${short} ${info.role}${info.role === "assistant" && info.finish ? ` ${info.finish}` : ""}`
    }
    case "session.status":
      return `${short} ${event.properties.status.type}`
    default:
      return short
  }
}

/** Waits until a condition holds, and throws after `waitMsMax`. */
export async function until(holds: () => boolean, what: () => unknown = () => ""): Promise<void> {
  const end = performance.now() + waitMsMax
  while (!holds()) {
    if (performance.now() > end) throw new Error(`It did not happen: ${JSON.stringify(what())}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
