import { dirname } from "node:path"
import { parseJson } from "../../../protocol/index.ts"
import type { Core, TrackedSession } from "../core.ts"
import { endLine, moveAside } from "../disk/torn-lines.ts"
import { isMainFile } from "../format/header.ts"
import { lineBounds } from "../format/lines.ts"
import type { Append, Batch } from "./journal.ts"

/**
 * Writes a batch to the files, after it was written to the journal. Returns the files in which another program's lines
 * came before the appended bytes, with the length of these lines.
 */
export function writeBatch(core: Core, batch: Batch): { file: string; shift: number }[] {
  const { files } = core
  const shifted: { file: string; shift: number }[] = []
  for (const [draft, file] of batch.renames ?? []) files.rename(draft, file)
  for (const { file, at, text } of batch.appends) {
    const bytes = Buffer.from(text)
    if (at === 0) files.makeDirectory(dirname(file))
    const size = files.append(file, bytes)
    if (size === at + bytes.length) continue
    // Another program, which does not use the lock, wrote at the same moment.
    const shift = files.read(file, at).indexOf(bytes)
    if (shift > 0) shifted.push({ file, shift })
  }
  for (const file of batch.deletes ?? []) files.remove(file)
  return shifted
}

/** False if a file shows that the batch was not completely written, because its process could not continue. */
export function looksWritten(core: Core, batch: Batch): boolean {
  const size = (file: string) => core.files.stat(file)?.size
  return (
    batch.appends.every(({ file, at, text }) => (size(file) ?? 0) >= at + Buffer.byteLength(text)) &&
    (batch.renames ?? []).every(([draft]) => size(draft) === undefined) &&
    (batch.deletes ?? []).every((file) => size(file) === undefined)
  )
}

/** Removes the bytes that a batch appended. A batch that renamed or deleted files cannot be undone. */
export function undoAppends(core: Core, batch: Batch): void {
  for (const { file, at, text } of batch.appends) {
    // Other bytes were written by another program and stay.
    if (!core.files.read(file, at).equals(Buffer.from(text))) continue
    if (at === 0) core.files.remove(file)
    else core.files.truncate(file, at)
  }
}

/**
 * Writes batches again that may have been lost when a process or the machine died. Returns the files in which lines of
 * another program come before the appended bytes, so that they are longer than the journal says.
 */
export async function redo(core: Core, batches: Batch[]): Promise<Set<string>> {
  const shifted = new Set<string>()
  // A file that a later batch replaced or deleted must not get bytes of earlier batches.
  const replacedIn = new Map<string, number>()
  for (const { n, renames, deletes } of batches) {
    for (const [, file] of renames ?? []) replacedIn.set(file, n)
    for (const file of deletes ?? []) replacedIn.set(file, n)
  }
  for (const batch of batches) {
    const appends = batch.appends.filter(({ file }) => (replacedIn.get(file) ?? 0) <= batch.n)
    const deletes = batch.deletes?.filter((file) => (replacedIn.get(file) ?? 0) <= batch.n)
    for (const [draft, file] of batch.renames ?? []) {
      if (core.files.stat(draft)) core.files.rename(draft, file)
    }
    for (const append of appends) if (await redoAppend(core, append)) shifted.add(append.file)
    for (const file of deletes ?? []) core.files.remove(file)
  }
  return shifted
}

/** Appends the bytes unless they are in the file. Returns true if lines of another program come before them. */
async function redoAppend(core: Core, { file, at, text }: Append): Promise<boolean> {
  const { files } = core
  const bytes = Buffer.from(text)
  const size = files.stat(file)?.size
  if (size === undefined) {
    if (at > 0) {
      core.warn(`${file} is gone; ${bytes.length} bytes of the journal that belong to it are lost.`)
      return false
    }
    files.makeDirectory(dirname(file))
    files.append(file, bytes)
    return false
  }
  if (size < at) {
    core.warn(`${file} is shorter than before: ${at - size} bytes are lost.`)
    return false
  }
  if (files.isLink(file)) {
    core.warn(`${file} is a symlink now; ${bytes.length} bytes of the journal were not appended to it.`)
    return false
  }
  const tail = files.read(file, at)
  const done = tail.indexOf(bytes)
  if (done >= 0) return done > 0
  const begun = partialWriteStart(tail, bytes)
  if (begun >= 0) {
    files.append(file, bytes.subarray(tail.length - begun))
    return begun > 0
  }
  if (isMainFile(file)) await clearForAppend(core, { file, at, tail })
  else files.truncate(file, at)
  return files.append(file, bytes) > at + bytes.length
}

/**
 * Adds a batch to the journal that only tells other processes the lengths of a session's files, after lines of another
 * program came in between.
 */
export function journalLengths(core: Core, tracked: TrackedSession): void {
  const { folder, name, main, state } = tracked
  const { seq, newest } = core.state.sessions.get(tracked.id)!
  core.journal.append({
    n: core.journal.n + 1,
    version: core.state.version,
    sessions: { [tracked.id]: { folder, name, main, state, seq, newest } },
    appends: [],
  })
}

/**
 * Returns the offset at which the file ends with a beginning of our bytes, because the write was interrupted; -1 if it
 * does not.
 */
function partialWriteStart(tail: Buffer, bytes: Buffer): number {
  const lines = [0]
  for (let at = tail.indexOf(0x0a); at >= 0; at = tail.indexOf(0x0a, at + 1)) lines.push(at + 1)
  // Bytes that were appended after a line without a line feed begin with a line feed.
  for (const at of [...lines, ...lines.slice(1).map((line) => line - 1)]) {
    const rest = tail.subarray(at)
    if (at < tail.length && bytes.subarray(0, rest.length).equals(rest)) return at
  }
  return tail.length === 0 ? 0 : -1
}

/**
 * Prepares the end of a main file for an append. Complete lines of another program stay. Other bytes have an unknown
 * writer and are moved to `{file}.torn`.
 */
async function clearForAppend(
  core: Core,
  { file, at, tail }: { file: string; at: number; tail: Buffer },
): Promise<void> {
  const end = tail.lastIndexOf(0x0a) + 1
  if (!isJsonLines(tail.subarray(0, end))) await moveAside(core, file, at)
  else if (end === tail.length) return
  else if (isJsonLines(tail.subarray(end))) endLine(core, file)
  else await moveAside(core, file, at + end)
}

function isJsonLines(bytes: Buffer): boolean {
  try {
    for (const line of bytes.toString("utf8").split("\n")) if (line.trim() !== "") parseJson(line, lineBounds)
    return true
  } catch {
    return false
  }
}
