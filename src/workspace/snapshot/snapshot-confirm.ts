import { createHash } from "node:crypto"
import { constants } from "node:fs"
import { type FileHandle, lstat, readlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import type { HeldDirectory } from "../../system/held-directory.ts"
import { holdDirectory } from "../../system/hold-directory.ts"
import type { Git } from "../git/git-command.ts"
import { leftOutMode, removedEntry } from "./snapshot-files.ts"

/** File systems store times in steps of up to 2 s. A change in the same step as an earlier one is not visible. */
const settledAfterMs = 2_100
const workersMax = 16
const chunkBytes = 256 * 1024
/** With more files than this, the whole index is listed, because the arguments of a process have a size limit. */
const namedFilesMax = 100

/**
 * The directories of files, from the root down, before git reads the files by their paths. If a directory is replaced by
 * a symlink while git reads, the content of a file outside the project could get into a snapshot. Each such replacement
 * changes the directory above it.
 */
export type DirectoryStates = ReadonlyMap<string, string | undefined>

/** Parents come before children, so that the path to each directory is covered when the directory is looked at. */
export async function directoryStates(root: string, files: readonly string[]): Promise<DirectoryStates> {
  const states = new Map<string, string | undefined>()
  for (const level of levelsOf(files)) {
    await eachOf(level, async (directory) => void states.set(directory, await stateOf(join(root, directory))))
  }
  return states
}

export interface ConfirmOptions {
  root: string
  /** The files that git has read into the index. */
  files: readonly string[]
  before: DirectoryStates
  index: string
  signal: AbortSignal
}

/**
 * Lines for `update-index --index-info` that correct the index: for each file that git may have read elsewhere, and whose
 * entry is not what the file at its real path has. Such a file may also have changed in the meantime; the newer content
 * is then stored.
 */
export async function correctedEntries(git: Git, options: ConfirmOptions): Promise<string[]> {
  const { root, signal } = options
  const doubtful = await filesInDoubt(options)
  if (doubtful.length === 0) return []
  const indexed = await indexedEntries(git, { ...options, files: doubtful })
  const wrong: string[] = []
  await eachOf(doubtful, async (file) => {
    signal.throwIfAborted()
    const entry = indexed.get(file)
    if (entry === undefined || entry.startsWith(leftOutMode)) return
    if (entry !== (await entryOf(root, file))) wrong.push(file)
  })
  const corrected: string[] = []
  for (const file of wrong) {
    const found = await contentOf(root, file)
    if (found === undefined) {
      corrected.push(removedEntry(file))
      continue
    }
    const args = ["hash-object", "-w", "--no-filters", "--stdin"]
    const object = (await git.run({ args, input: found.content, signal })).toString().trim()
    corrected.push(`${found.mode} ${object}\t${file}`)
  }
  return corrected
}

/** Children come before parents, the opposite of `directoryStates`. */
async function filesInDoubt({ root, files, before }: ConfirmOptions): Promise<string[]> {
  const changed = new Set<string>()
  for (const level of levelsOf(files).reverse()) {
    await eachOf(level, async (directory) => {
      const state = before.get(directory)
      if (state === undefined || state !== (await stateOf(join(root, directory)))) changed.add(directory)
    })
  }
  return changed.size === 0 ? [] : files.filter((file) => directoriesOf(file).some((one) => changed.has(one)))
}

/** The entries of the index as `entryOf` gives them. */
async function indexedEntries(
  git: Git,
  { files, index, signal }: ConfirmOptions,
): Promise<Map<string, string>> {
  const named = files.length <= namedFilesMax ? ["--", ...files.map((file) => `:(literal)${file}`)] : []
  const output = await git.run({ args: ["ls-files", "--stage", "-z", ...named], index, signal })
  const entries = new Map<string, string>()
  for (const line of output.toString("utf8").split("\0")) {
    const [, mode, object, path] = /^(\d+) ([0-9a-f]+) \d\t(.*)$/s.exec(line) ?? []
    if (path !== undefined) entries.set(path, `${mode} ${object}`)
  }
  return entries
}

/** The entry that git makes for a file: its mode, a space, and the name of its object. Undefined if there is no file. */
async function entryOf(root: string, file: string): Promise<string | undefined> {
  return withFile(root, file, async ({ mode, size, chunks }) => {
    const hash = createHash("sha1").update(`blob ${size}\0`)
    for await (const chunk of chunks) hash.update(chunk)
    return `${mode} ${hash.digest("hex")}`
  })
}

/** The mode and the content of a file; undefined if there is no file. */
async function contentOf(root: string, file: string): Promise<{ mode: string; content: Buffer } | undefined> {
  return withFile(root, file, async ({ mode, chunks }) => {
    const parts: Buffer[] = []
    for await (const chunk of chunks) parts.push(Buffer.from(chunk))
    return { mode, content: Buffer.concat(parts) }
  })
}

interface OpenFile {
  mode: string
  size: number
  /** Yields the same buffer each time. */
  chunks: AsyncIterable<Buffer>
}

async function withFile<T>(
  root: string,
  file: string,
  use: (opened: OpenFile) => Promise<T>,
): Promise<T | undefined> {
  try {
    await using held = await holdDirectory(join(root, dirname(file)))
    const name = basename(file)
    const stats = await held.stats(name)
    if (stats?.isSymbolicLink()) return await use(await linkOf(held, name))
    if (!stats?.isFile()) return undefined
    await using handle = await held.open(name, constants.O_RDONLY | constants.O_NONBLOCK)
    const opened = await handle.stat()
    if (!opened.isFile()) return undefined
    const mode = (opened.mode & 0o100) === 0 ? "100644" : "100755"
    return await use({ mode, size: opened.size, chunks: chunksOf(handle) })
  } catch {
    return undefined
  }
}

async function linkOf(held: HeldDirectory, name: string): Promise<OpenFile> {
  const target = await readlink(held.entry(name), { encoding: "buffer" })
  const chunks = (async function* () {
    yield target
  })()
  return { mode: "120000", size: target.length, chunks }
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(chunkBytes)
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, chunkBytes)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

/** Changes whenever an entry of the directory does. Undefined if a change would not be visible, or for no directory. */
async function stateOf(path: string): Promise<string | undefined> {
  const stats = await lstat(path, { bigint: true }).catch(() => undefined)
  if (stats === undefined || !stats.isDirectory()) return undefined
  if (Date.now() - Number(stats.ctimeMs) < settledAfterMs) return undefined
  return `${stats.dev} ${stats.ino} ${stats.ctimeNs}`
}

/** The directories of all files by their depth. The root is ".". */
function levelsOf(files: readonly string[]): string[][] {
  const all = new Set(files.map((file) => dirname(file)))
  for (const one of all) if (one !== ".") all.add(dirname(one))
  const byDepth = Map.groupBy(all, (one) => (one === "." ? 0 : one.split("/").length))
  return [...byDepth].sort(([a], [b]) => a - b).map(([, level]) => level)
}

function directoriesOf(file: string): string[] {
  const directories = [dirname(file)]
  while (directories.at(-1) !== ".") directories.push(dirname(directories.at(-1)!))
  return directories
}

/** Calls the function for each item, a few at the same time. */
async function eachOf<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const pending = [...items].reverse()
  const worker = async () => {
    for (let item = pending.pop(); item !== undefined; item = pending.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: workersMax }, worker))
}
