import { dirname } from "node:path"
import type { Core } from "./core.ts"
import { isMainFile } from "./header.ts"
import type { Append, Batch } from "./journal.ts"
import { endLine, putAside } from "./torn.ts"

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

/** Does again what may have been lost when a process, or the machine, died. */
export async function redo(core: Core, batches: Batch[]): Promise<void> {
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
    for (const append of appends) await doAppend(core, append)
    for (const file of deletes ?? []) core.files.remove(file)
  }
}

async function doAppend(core: Core, { file, at, text }: Append): Promise<void> {
  const { files } = core
  const bytes = Buffer.from(text)
  const size = files.stat(file)?.size
  if (size === undefined) {
    if (at > 0) {
      core.warn(`${file} is gone; what was to be appended to it is lost with it.`)
      return
    }
    files.makeDirectory(dirname(file))
    files.append(file, bytes)
    return
  }
  if (size < at) {
    core.warn(`${file} is shorter than it was: ${at - size} bytes are lost.`)
    return
  }
  if (files.isLink(file)) {
    core.warn(`${file} has become a link; what was to be appended to it is left out.`)
    return
  }
  const tail = files.read(file, at)
  if (tail.includes(bytes)) return
  const begun = begunAt(tail, bytes)
  if (begun >= 0) {
    files.append(file, bytes.subarray(tail.length - begun))
    return
  }
  if (isMainFile(file)) await makeWay(core, { file, at, tail })
  else files.truncate(file, at)
  files.append(file, bytes)
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
