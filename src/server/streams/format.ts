import type { Frame } from "../../stream/hub.ts"

/** What a stream is made of. With a cursor a reader can come back to it. */
export interface Numbered {
  cursor?: string
}

/** A frame as text; undefined leaves it out, several are sent one after the other. */
export type FrameText<F> = (frame: F) => string | readonly string[] | undefined

/** Readers that are behind are given longer batches, mostly as long as those of others who are. */
const recentMax = 8

/**
 * Turns frames into bytes. Readers of one session are mostly given the same frames in the same turn of the event loop, which
 * are then written once.
 */
export class Format<F extends Numbered = Frame> {
  readonly #text: FrameText<F>
  #recent: { frames: readonly F[]; bytes: Uint8Array }[] = []

  constructor(text: FrameText<F>) {
    this.#text = text
  }

  bytes(frames: readonly F[]): Uint8Array {
    const same = this.#recent.find((one) => isSame(one.frames, frames))
    if (same) return same.bytes
    let text = ""
    for (const frame of frames) text += this.#message(frame)
    const bytes = Buffer.from(text)
    if (this.#recent.length === 0) setImmediate(() => this.#forget())
    if (this.#recent.length < recentMax) this.#recent.push({ frames, bytes })
    return bytes
  }

  #forget(): void {
    this.#recent = []
  }

  #message(frame: F): string {
    const body = this.#text(frame)
    if (body === undefined) return ""
    if (typeof body === "string") {
      return frame.cursor === undefined ? `data: ${body}\n\n` : `id: ${frame.cursor}\ndata: ${body}\n\n`
    }
    // The cursor stands with the last, so that whoever drops in between is given all of them again.
    const last = body.length - 1
    const id = frame.cursor === undefined ? "" : `id: ${frame.cursor}\n`
    return body.map((one, at) => `${at === last ? id : ""}data: ${one}\n\n`).join("")
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length || a[0] !== b[0]) return false
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false
  return true
}

/**
 * Stemma's own frames: events, rows and live text as they are, each with its `type`. A row with `more` is followed by others
 * of the same answer.
 */
export function ownText(frame: Frame): string {
  if ("event" in frame) return JSON.stringify(frame.event)
  if ("row" in frame) return JSON.stringify(frame.more ? { ...frame.row, more: true } : frame.row)
  const type = "synced" in frame ? "synced" : "lagged"
  return JSON.stringify({ type, properties: { cursor: frame.cursor } })
}
