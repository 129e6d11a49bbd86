import type { Readable, Writable } from "node:stream"
import { replaceUnseen, visibleLine, visibleText } from "../../session/index.ts"

/** The input, the output and the environment of a command. */
export interface Terminal {
  input: NodeJS.ReadableStream & Pick<Readable, "readableEnded"> & { isTTY?: boolean }
  output: NodeJS.WritableStream & { isTTY?: boolean }
  error: NodeJS.WritableStream & { isTTY?: boolean }
  env: Record<string, string | undefined>
}

/** The exit code that shells use for a program that wrote to a closed pipe. */
export const closedPipeCode = 141

export interface LostOutput {
  /** The exit code of the program, unless another error sets one. */
  exitCode: number
  /** Undefined if the reader of a pipe has closed it (`stemma session list | head`), which is not an error. */
  problem: string | undefined
}

/** Calls back once, when a write fails. Later writes are lost. */
export function onLostOutput(output: Terminal["output"], callback: (lost: LostOutput) => void): void {
  let isReported = false
  ;(output as Writable).on("error", (error: NodeJS.ErrnoException) => {
    if (isReported) return
    isReported = true
    if (isReaderGone(error, output)) callback({ exitCode: closedPipeCode, problem: undefined })
    else callback({ exitCode: 1, problem: `Writing the output failed: ${reason(error)}.` })
  })
}

function isReaderGone({ code = "" }: NodeJS.ErrnoException, { isTTY }: Terminal["output"]): boolean {
  // Writing to a closed terminal fails with EIO.
  return ["EPIPE", "ERR_STREAM_DESTROYED", "EOF"].includes(code) || (isTTY === true && code === "EIO")
}

/** Turns `ENOSPC: no space left on device, write` into `no space left on device`. */
function reason({ message }: Error): string {
  return message.replace(/^[A-Z]+: /, "").replace(/, \w+$/, "")
}

/** The text on one line, without escape sequences, shortened to `charactersMax`. */
export function printableLine(text: string, charactersMax = 300): string {
  const line = visibleLine(text.slice(0, 4 * charactersMax))
  return line.length > charactersMax ? `${line.slice(0, charactersMax - 1)}…` : line
}

/** The text without escape sequences. Line breaks stay. */
export function printableText(text: string): string {
  return visibleText(text)
    .replace(/\r/g, "")
    .replace(/[\v\f\u0085]/g, "\n")
}

/** A value as one line of JSON, with invisible characters escaped. */
export function printableJson(value: unknown): string {
  return replaceUnseen(JSON.stringify(value), escaped)
}

function escaped(characters: string): string {
  return characters
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")
}

/** Writes with back-pressure, and stops when the reader is gone. */
export class Output {
  readonly #stream: NodeJS.WritableStream
  readonly #lost = Promise.withResolvers<void>()
  isOpen = true
  /** The exit code of a command that only writes. */
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
