import { setTimeout as sleep } from "node:timers/promises"
import { StemmaError } from "../../../protocol/index.ts"
import type { Core } from "../core.ts"
import { isObject } from "../format/lines.ts"

/** A line that nobody has gone on writing for that long is never finished. */
const abandonedMs = 10_000
/** Most programs that write a line in two steps need less than that. */
const triesMax = 6
const tryMs = 20
const lineFeed = 0x0a

/** A last line without its line feed, in bytes that nobody accounts for. */
interface Rest {
  /** Where it begins. */
  at: number
  bytes: Buffer
  /** True if nothing but the line feed is missing. */
  whole: boolean
}

/** What follows the last line feed of a main file, none of it before `from`, which is where a line begins. */
export function restOf(core: Core, file: string, from: number): Rest | undefined {
  const tail = core.files.read(file, from)
  const end = tail.lastIndexOf(lineFeed) + 1
  if (end === tail.length) return undefined
  const bytes = tail.subarray(end)
  return { at: from + end, bytes, whole: isWhole(bytes) }
}

function isWhole(bytes: Buffer): boolean {
  try {
    return isObject(JSON.parse(bytes.toString("utf8")))
  } catch {
    return false
  }
}

/**
 * Makes sure that a line of ours can follow what another program wrote behind the bytes that we account for. A line
 * that it has not finished is never cut while it may be at work on it: then `unavailable`.
 */
export async function endForeignLine(core: Core, file: string, from: number): Promise<void> {
  for (let tries = 1; ; tries++) {
    const stat = core.files.stat(file)
    if (!stat || stat.size <= from) return
    const rest = restOf(core, file, from)
    if (!rest) return
    if (rest.whole) return endLine(core, file)
    if (Date.now() - stat.mtimeMs >= abandonedMs) return putAside(core, file, rest.at)
    if (tries === triesMax) throw unfinishedError(file)
    await sleep(tryMs)
  }
}

/** Should the other program end its line as well, there is an empty line, which means nothing. */
export function endLine(core: Core, file: string): void {
  core.files.append(file, Buffer.from("\n"))
}

/** Cuts the end of a file off, after it was kept in a file of its own. */
export async function putAside(core: Core, file: string, at: number): Promise<void> {
  const bytes = core.files.read(file, at)
  const aside = `${file}.torn`
  core.files.append(aside, Buffer.concat([bytes, Buffer.from("\n")]))
  await core.files.sync(aside)
  core.files.truncate(file, at)
  core.warn(`${file} ended in the middle of a line; ${bytes.length} bytes were moved to ${aside}.`)
}

export function unfinishedText(file: string, bytes: number): string {
  return `${file} ends in the middle of a line: ${bytes} bytes are not read until the program that writes it ends the line.`
}

function unfinishedError(file: string): StemmaError {
  return new StemmaError(
    "unavailable",
    `Another program has not finished its line at the end of ${file}. Try again when it has; after ${abandonedMs / 1000} s without a change the rest is moved aside.`,
    { details: { file } },
  )
}
