import type { FileHandle } from "node:fs/promises"
import { type FileLocation, type OpenedFile, openFile } from "../file/open-file.ts"

/** The bytes that one UTF-16 unit takes in UTF-8, at most. */
const unitBytes = 3
const lineEndBytes = 4
/** Most files are read at once. */
const headBytesMax = 64 * 1024
/** A larger file in UTF-16 is not read again, so its lines are not confirmed. */
const decodedBytesMax = 16 * 1024 * 1024

/** A line that ripgrep printed. */
export interface PrintedLine {
  /** Where the line starts, in bytes of the file without its byte order mark and, for UTF-16, as UTF-8. */
  offset: number
  text: string
}

/**
 * Those of the printed lines that are in the file at its real path. Another program read the file by its path, and a
 * directory of that path may have been a symlink at that moment: then the lines come from a file outside the project.
 * The start of each line is compared, up to `unitsMax` UTF-16 units; a caller shows no more than that.
 */
export async function confirmedLines<T extends PrintedLine>(
  location: FileLocation,
  { lines, unitsMax }: { lines: readonly T[]; unitsMax: number },
): Promise<T[]> {
  const opened = await openFile(location).catch(() => undefined)
  if (opened === undefined) return []
  await using _ = opened.handle
  const read = await readerOf(opened)
  const confirmed: T[] = []
  for (const line of lines) {
    const expected = withoutLineEnd(line.text).slice(0, unitsMax)
    const bytes = await read(line.offset, Math.min(expected.length, unitsMax) * unitBytes + lineEndBytes)
    const [first = ""] = bytes.toString().split("\n", 1)
    if (withoutLineEnd(first).slice(0, unitsMax) === expected) confirmed.push(line)
  }
  return confirmed
}

type Read = (offset: number, length: number) => Promise<Buffer>

/** Reads by the offsets that ripgrep prints. It decodes UTF-16, and leaves a byte order mark out. */
async function readerOf({ handle, stats }: OpenedFile): Promise<Read> {
  const head = await readAt(handle, 0, Math.min(stats.size, headBytesMax))
  const mark = head.toString("hex", 0, 3)
  const encoding = mark.startsWith("fffe") ? "utf-16le" : mark.startsWith("feff") ? "utf-16be" : undefined
  if (encoding !== undefined) {
    const bytes = await readAt(handle, 0, Math.min(stats.size, decodedBytesMax))
    const decoded = Buffer.from(new TextDecoder(encoding).decode(bytes))
    return async (offset, length) => decoded.subarray(offset, offset + length)
  }
  const start = mark === "efbbbf" ? 3 : 0
  const isWhole = stats.size <= headBytesMax
  return async (offset, length) => {
    const at = start + offset
    return isWhole || at + length <= head.length ? head.subarray(at, at + length) : readAt(handle, at, length)
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let end = 0
  while (end < length) {
    const { bytesRead } = await handle.read(buffer, end, length - end, position + end)
    if (bytesRead === 0) break
    end += bytesRead
  }
  return buffer.subarray(0, end)
}

function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n?$/, "")
}
