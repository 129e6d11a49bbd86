import { setTimeout as sleep } from "node:timers/promises"
import { StemmaError } from "../../../protocol/index.ts"
import type { Core } from "../core.ts"
import { parseObject } from "../format/lines.ts"

/** An unfinished line that was not extended for this long is abandoned. */
const abandonedMs = 10_000
/**
 * How often, and with which delay, an unfinished line is checked again. Most programs that write a line in two steps
 * finish sooner.
 */
const triesMax = 6
const tryMs = 20
const lineFeed = 0x0a

/** A last line without a line feed, after the accounted bytes. */
interface UnfinishedLine {
  /** The byte offset where the line begins. */
  at: number
  bytes: Buffer
  /** True if only the line feed is missing. */
  whole: boolean
}

/** Returns the unfinished last line of a main file. `from` is the byte offset of a line at which the search starts. */
export function findUnfinishedLine(core: Core, file: string, from: number): UnfinishedLine | undefined {
  const tail = core.files.read(file, from)
  const end = tail.lastIndexOf(lineFeed) + 1
  if (end === tail.length) return undefined
  const bytes = tail.subarray(end)
  return { at: from + end, bytes, whole: parseObject(bytes.toString("utf8")) !== undefined }
}

/**
 * Makes sure that a new line can be appended after the lines of another program. A line that the other program may
 * still be writing is never cut: then `unavailable`.
 */
export async function endForeignLine(core: Core, file: string, from: number): Promise<void> {
  for (let tries = 1; ; tries++) {
    const stat = core.files.stat(file)
    if (!stat || stat.size <= from) return
    const rest = findUnfinishedLine(core, file, from)
    if (!rest) return
    if (rest.whole) return endLine(core, file)
    if (Date.now() - stat.mtimeMs >= abandonedMs) return moveAside(core, file, rest.at)
    if (tries === triesMax) throw unfinishedError(file)
    await sleep(tryMs)
  }
}

/** Appends a line feed. If the other program appends one too, the empty line has no meaning. */
export function endLine(core: Core, file: string): void {
  core.files.append(file, Buffer.from("\n"))
}

/** Moves the end of a file to `{file}.torn`. */
export async function moveAside(core: Core, file: string, at: number): Promise<void> {
  const bytes = core.files.read(file, at)
  const aside = `${file}.torn`
  core.files.append(aside, Buffer.concat([bytes, Buffer.from("\n")]))
  await core.files.sync(aside)
  core.files.truncate(file, at)
  core.warn(`${file} ended in the middle of a line; ${bytes.length} bytes were moved to ${aside}.`)
}

export function unfinishedText(file: string, bytes: number): string {
  return `${file} ends in the middle of a line: ${bytes} bytes are ignored until the program that writes the file finishes the line.`
}

function unfinishedError(file: string): StemmaError {
  return new StemmaError(
    "unavailable",
    `Another program has not finished its line at the end of ${file}. Try again later; after ${abandonedMs / 1000} s without a change the unfinished line is moved to ${file}.torn.`,
    { details: { file } },
  )
}
