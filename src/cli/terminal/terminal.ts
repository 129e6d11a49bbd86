import type { Readable, Writable } from "node:stream"
import { replaceUnseen, visibleLine, visibleText } from "../../session/index.ts"

/** Where a command reads and writes. */
export interface Terminal {
  input: NodeJS.ReadableStream & Pick<Readable, "readableEnded"> & { isTTY?: boolean }
  output: NodeJS.WritableStream & { isTTY?: boolean }
  error: NodeJS.WritableStream & { isTTY?: boolean }
  env: Record<string, string | undefined>
}

/** What a shell says of a program that wrote to a closed pipe. */
export const closedPipeCode = 141

export interface LostOutput {
  /** What the program ends with if nothing else does. */
  exitCode: number
  /** Undefined if whoever read it has gone (`stemma session list | head`): that is no failure of ours. */
  problem: string | undefined
}

/** Calls back once, when what is written does not arrive; what is written from then on is lost. */
export function onLostOutput(output: Terminal["output"], callback: (lost: LostOutput) => void): void {
  let isTold = false
  ;(output as Writable).on("error", (error: NodeJS.ErrnoException) => {
    if (isTold) return
    isTold = true
    if (isReaderGone(error, output)) callback({ exitCode: closedPipeCode, problem: undefined })
    else callback({ exitCode: 1, problem: `The output cannot be written: ${reason(error)}.` })
  })
}

function isReaderGone({ code = "" }: NodeJS.ErrnoException, { isTTY }: Terminal["output"]): boolean {
  // A terminal that was closed gives an error of its own.
  return ["EPIPE", "ERR_STREAM_DESTROYED", "EOF"].includes(code) || (isTTY === true && code === "EIO")
}

/** `ENOSPC: no space left on device, write` without what only Node cares for. */
function reason({ message }: Error): string {
  return message.replace(/^[A-Z]+: /, "").replace(/, \w+$/, "")
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
  readonly #lost = Promise.withResolvers<void>()
  isOpen = true
  /** What a command ends with that did nothing but write. */
  exitCode = 0

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream
    onLostOutput(stream, ({ exitCode }) => {
      this.isOpen = false
      this.exitCode = exitCode
      this.#lost.resolve()
    })
  }

  async write(text: string): Promise<void> {
    if (!this.isOpen || this.#stream.write(text)) return
    const drained = new Promise((resolve) => this.#stream.once("drain", resolve))
    await Promise.race([drained, this.#lost.promise])
  }
}
