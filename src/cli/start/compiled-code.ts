import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"
import { crc32 } from "node:zlib"

/** V8's compiled form of one file of the program, for exactly one source text. */
export interface CompiledFile {
  sourceCrc: number
  data: Buffer
}

interface Entry {
  sourceCrc: number
  dataCrc: number
  bytes: number
}

interface Header {
  taughtBy: number
  files: Record<string, Entry>
}

/** Before the header: its length, and its checksum. */
const prefixBytes = 8
const headerBytesMax = 1024 * 1024

/**
 * The compiled files of a program, as other processes left them. Empty if there are none, if they are damaged, or if somebody
 * else could have written them: V8 runs compiled code without checking it.
 */
export class CompiledCode {
  /** How many processes have added what they compiled. */
  readonly taughtBy: number
  readonly #file: number | undefined
  readonly #entries = new Map<string, Entry & { at: number }>()

  constructor(path: string) {
    let header: Header = { taughtBy: 0, files: {} }
    let at = 0
    try {
      const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
      const isSafe = isOwn(fstatSync(file)) && isOwn(lstatSync(dirname(path)))
      const found = isSafe ? readHeader(file) : undefined
      if (found) {
        header = found.header
        at = found.end
        this.#file = file
      } else closeSync(file)
    } catch {
      // There is no file.
    }
    this.taughtBy = header.taughtBy
    for (const [name, entry] of Object.entries(header.files)) {
      this.#entries.set(name, { ...entry, at })
      at += entry.bytes
    }
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  get names(): Iterable<string> {
    return this.#entries.keys()
  }

  /** Undefined if there is none, or if it is damaged. Read from the file at each call. */
  get(name: string): CompiledFile | undefined {
    const entry = this.#entries.get(name)
    if (!entry) return undefined
    const data = readBytes(this.#file!, { at: entry.at, bytes: entry.bytes })
    return data && crc32(data) === entry.dataCrc ? { sourceCrc: entry.sourceCrc, data } : undefined
  }
}

/** True if no other user can write it. */
function isOwn({ uid, mode }: Stats): boolean {
  if (process.getuid === undefined) return true
  return uid === process.getuid() && (mode & 0o022) === 0
}

function readHeader(file: number): { header: Header; end: number } | undefined {
  const prefix = readBytes(file, { at: 0, bytes: prefixBytes })
  const bytes = prefix?.readUInt32LE(0) ?? Number.POSITIVE_INFINITY
  if (!prefix || bytes > headerBytesMax) return undefined
  const text = readBytes(file, { at: prefixBytes, bytes })
  if (!text || prefix.readUInt32LE(4) !== crc32(text)) return undefined
  return { header: JSON.parse(text.toString()) as Header, end: prefixBytes + bytes }
}

/** Undefined if the file is shorter. */
function readBytes(file: number, { at, bytes }: { at: number; bytes: number }): Buffer | undefined {
  const buffer = Buffer.allocUnsafeSlow(bytes)
  return readSync(file, buffer, 0, bytes, at) === bytes ? buffer : undefined
}

/** Replaces the compiled code. Another process reads either the old file or the whole new one. */
export function writeCompiledCode(
  path: string,
  { taughtBy, files }: { taughtBy: number; files: ReadonlyMap<string, CompiledFile> },
): void {
  const entries = [...files].map(([name, { sourceCrc, data }]): [string, Entry] => [
    name,
    { sourceCrc, dataCrc: crc32(data), bytes: data.length },
  ])
  const header = Buffer.from(
    JSON.stringify({ taughtBy, files: Object.fromEntries(entries) } satisfies Header),
  )
  const prefix = Buffer.alloc(prefixBytes)
  prefix.writeUInt32LE(header.length, 0)
  prefix.writeUInt32LE(crc32(header), 4)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // A draft of a process that died must not be in the way.
  const draft = `${path}.${process.pid}.${Date.now()}`
  const all = [prefix, header, ...[...files.values()].map(({ data }) => data)]
  writeFileSync(draft, Buffer.concat(all), { mode: 0o600, flag: "wx" })
  renameSync(draft, path)
}
