import type { Frame } from "../../stream/hub.ts"

/** A frame of a stream. A reader can resume after a frame with a cursor. */
export interface Numbered {
  cursor?: string
}

/** Converts a frame to text; undefined leaves the frame out, and several texts are sent one after the other. */
export type FrameText<F> = (frame: F) => string | readonly string[] | undefined

/**
 * How many different batches of one tick are remembered: readers that are behind get longer batches than the others.
 */
const recentMax = 8

/**
 * Converts frames to bytes. The readers of a session mostly get the same frames in the same event loop tick, which are
 * then converted once for all of them.
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
    // Only the last text has the cursor, so that a reader that disconnects between them gets all of them again.
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
 * Stemma's own format: events, rows and live text unchanged, each with its `type`. A row with `more` is followed by
 * other rows of the same answer.
 */
export function ownText(frame: Frame): string {
  if ("event" in frame) return JSON.stringify(frame.event)
  if ("row" in frame) return JSON.stringify(frame.more ? { ...frame.row, more: true } : frame.row)
  const type = "synced" in frame ? "synced" : "lagged"
  return JSON.stringify({ type, properties: { cursor: frame.cursor } })
}
