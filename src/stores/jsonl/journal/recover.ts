import { dirname } from "node:path"
import type { Core, Entry } from "../core.ts"
import { endLine, putAside } from "../disk/torn-lines.ts"
import { isMainFile } from "../format/header.ts"
import type { Append, Batch } from "./journal.ts"

/** Writes what a batch says into the files, after it was written into the journal. */
export function doBatch(core: Core, batch: Batch): { file: string; shift: number }[] {
  const { files } = core
  const shifted: { file: string; shift: number }[] = []
  for (const [draft, file] of batch.renames ?? []) files.rename(draft, file)
  for (const { file, at, text } of batch.appends) {
    const bytes = Buffer.from(text)
    if (at === 0) files.makeDirectory(dirname(file))
    const size = files.append(file, bytes)
    if (size === at + bytes.length) continue
    // Another program, which knows no lock, wrote at the same moment.
    const shift = files.read(file, at).indexOf(bytes)
    if (shift > 0) shifted.push({ file, shift })
  }
  for (const file of batch.deletes ?? []) files.remove(file)
  return shifted
}

/** False if a file shows that the batch is not done: whoever wrote it into the journal could not go on. */
export function looksDone(core: Core, batch: Batch): boolean {
  const size = (file: string) => core.files.stat(file)?.size
  return (
    batch.appends.every(({ file, at, text }) => (size(file) ?? 0) >= at + Buffer.byteLength(text)) &&
    (batch.renames ?? []).every(([draft]) => size(draft) === undefined) &&
    (batch.deletes ?? []).every((file) => size(file) === undefined)
  )
}

/** Takes appended bytes away again, as far as they came; batches that did more than append cannot be taken back. */
export function undoAppends(core: Core, batch: Batch): void {
  for (const { file, at, text } of batch.appends) {
    // If there is anything else, another program wrote it.
    if (!core.files.read(file, at).equals(Buffer.from(text))) continue
    if (at === 0) core.files.remove(file)
    else core.files.truncate(file, at)
  }
}

/**
 * Does again what may have been lost when a process, or the machine, died. Gives the files in which lines of another
 * program come before ours: they are longer than the journal says.
 */
export async function redo(core: Core, batches: Batch[]): Promise<Set<string>> {
  const shifted = new Set<string>()
  // A file that was replaced or deleted later has nothing of what was appended before.
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
    for (const append of appends) if (await doAppend(core, append)) shifted.add(append.file)
    for (const file of deletes ?? []) core.files.remove(file)
  }
  return shifted
}

/** True if another program's lines come before ours, so that the file is longer than the journal says. */
async function doAppend(core: Core, { file, at, text }: Append): Promise<boolean> {
  const { files } = core
  const bytes = Buffer.from(text)
  const size = files.stat(file)?.size
  if (size === undefined) {
    if (at > 0) {
      core.warn(`${file} is gone; what was to be appended to it is lost with it.`)
      return false
    }
    files.makeDirectory(dirname(file))
    files.append(file, bytes)
    return false
  }
  if (size < at) {
    core.warn(`${file} is shorter than it was: ${at - size} bytes are lost.`)
    return false
  }
  if (files.isLink(file)) {
    core.warn(`${file} has become a link; what was to be appended to it is left out.`)
    return false
  }
  const tail = files.read(file, at)
  const done = tail.indexOf(bytes)
  if (done >= 0) return done > 0
  const begun = begunAt(tail, bytes)
  if (begun >= 0) {
    files.append(file, bytes.subarray(tail.length - begun))
    return begun > 0
  }
  if (isMainFile(file)) await makeWay(core, { file, at, tail })
  else files.truncate(file, at)
  return files.append(file, bytes) > at + bytes.length
}

/** Tells other processes how long a session's files are after lines of another program came in between. */
export function noteLength(core: Core, replicaPart: Entry): void {
  const { folder, name, main, state } = replicaPart
  const { seq, newest } = core.state.sessions.get(replicaPart.id)!
  core.journal.append({
    n: core.journal.n + 1,
    version: core.state.version,
    sessions: { [replicaPart.id]: { folder, name, main, state, seq, newest } },
    appends: [],
  })
}

/** Where the beginning of our bytes ends a file that another program may have appended to before; -1 if it does not. */
function begunAt(tail: Buffer, bytes: Buffer): number {
  const lines = [0]
  for (let at = tail.indexOf(0x0a); at >= 0; at = tail.indexOf(0x0a, at + 1)) lines.push(at + 1)
  // What was written right behind a line that had no line feed begins with one.
  for (const at of [...lines, ...lines.slice(1).map((line) => line - 1)]) {
    const rest = tail.subarray(at)
    if (at < tail.length && bytes.subarray(0, rest.length).equals(rest)) return at
  }
  return tail.length === 0 ? 0 : -1
}

/** Whole lines are another program's and stay. Of anything else nobody knows who wrote it: it is kept aside. */
async function makeWay(
  core: Core,
  { file, at, tail }: { file: string; at: number; tail: Buffer },
): Promise<void> {
  const end = tail.lastIndexOf(0x0a) + 1
  if (!isJsonLines(tail.subarray(0, end))) await putAside(core, file, at)
  else if (end === tail.length) return
  else if (isJsonLines(tail.subarray(end))) endLine(core, file)
  else await putAside(core, file, at + end)
}

function isJsonLines(bytes: Buffer): boolean {
  try {
    for (const line of bytes.toString("utf8").split("\n")) if (line.trim() !== "") JSON.parse(line)
    return true
  } catch {
    return false
  }
}
