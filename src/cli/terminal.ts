import { once } from "node:events"
import type { Readable, Writable } from "node:stream"
import { replaceUnseen, visibleLine, visibleText } from "../session/index.ts"

/** Where a command reads and writes. */
export interface Terminal {
  input: NodeJS.ReadableStream & Pick<Readable, "readableEnded"> & { isTTY?: boolean }
  output: NodeJS.WritableStream & { isTTY?: boolean }
  error: NodeJS.WritableStream & { isTTY?: boolean }
  env: Record<string, string | undefined>
}

/** What a shell says of a program that wrote to a closed pipe. */
export const closedPipeCode = 141

/**
 * Whoever read the output has gone (`stemma session list | head`): that is no failure of ours. Calls back once; what is written
 * from then on is lost.
 */
export function onClosedPipe(output: NodeJS.WritableStream, callback: () => void): void {
  let isTold = false
  ;(output as Writable).on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "ERR_STREAM_DESTROYED" && error.code !== "EOF") throw error
    if (!isTold) callback()
    isTold = true
  })
}

/** What others wrote, on one line, without anything that steers a terminal; at most so many characters. */
export function shownLine(text: string, charactersMax = 300): string {
  const line = visibleLine(text.slice(0, 4 * charactersMax))
  return line.length > charactersMax ? `${line.slice(0, charactersMax - 1)}…` : line
}

/** What others wrote, without anything that steers a terminal. Lines stay. */
export function shownText(text: string): string {
  return visibleText(text)
    .replace(/\r/g, "")
    .replace(/[\v\f\u0085]/g, "\n")
}

/** A value as one line of JSON that a terminal can show: whatever cannot be seen is escaped. */
export function shownJson(value: unknown): string {
  return replaceUnseen(JSON.stringify(value), escaped)
}

function escaped(characters: string): string {
  return characters
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")
}

/** Writes without filling the memory, and stops when nobody reads any more. */
export class Output {
  readonly #stream: NodeJS.WritableStream
  readonly #closed = Promise.withResolvers<void>()
  isOpen = true

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream
    onClosedPipe(stream, () => {
      this.isOpen = false
      this.#closed.resolve()
    })
  }

  async write(text: string): Promise<void> {
    if (!this.isOpen || this.#stream.write(text)) return
    await Promise.race([once(this.#stream, "drain"), this.#closed.promise])
  }
}
