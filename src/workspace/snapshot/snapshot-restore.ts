import { randomUUID } from "node:crypto"
import { constants, type Stats } from "node:fs"
import { readlink, rename, rmdir, symlink, unlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { type HeldDirectory, ReplacedError } from "../../system/held-directory.ts"
import { holdDirectory } from "../../system/hold-directory.ts"
import { type Git, GitError } from "../git/git-command.ts"
import { isSnapshotFile, leftOutMode, markOf } from "./snapshot-files.ts"
import { readBlobs, type TreeEntry, treeEntries } from "./snapshot-objects.ts"

export interface RestoreOptions {
  root: string
  own: readonly string[]
  snapshot: string
  files: readonly string[]
  signal?: AbortSignal
}

export interface Restored {
  restored: string[]
  removed: string[]
  failed: string[]
}

/**
 * Restores the given files, and no others. Each change is made in the held directory of the file, never through a
 * symlink, so nothing outside the root changes. Ignore rules are restored first: a file that they ignore was left out of the snapshot and not
 * absent, so it is not removed.
 */
export async function restoreFiles(git: Git, options: RestoreOptions): Promise<Restored> {
  const files = new Set(options.files)
  const entries = await treeEntries(git, { tree: options.snapshot, files, signal: options.signal })
  const outcome = new Map<string, keyof Restored>()
  for (const file of files) if (!isSafeName(file, options)) outcome.set(file, "failed")
  const open = () => [...files].filter((file) => !outcome.has(file))

  const rules = open().filter((file) => entries.has(file) && isIgnoreFile(file))
  await writeAll(git, { ...options, files: rules, entries, outcome })
  await removeAll(git, { ...options, files: open().filter((file) => !entries.has(file)), outcome })
  await writeAll(git, { ...options, files: open(), entries, outcome })

  const having = (what: keyof Restored) => [...files].filter((file) => outcome.get(file) === what)
  return { restored: having("restored"), removed: having("removed"), failed: having("failed") }
}

type Outcome = Map<string, keyof Restored>

function isIgnoreFile(file: string): boolean {
  return file === ".gitignore" || file.endsWith("/.gitignore")
}

function isSafeName(file: string, options: RestoreOptions): boolean {
  const components = file.split("/")
  if (file.includes("\0") || components.some((name) => ["", ".", ".."].includes(name))) return false
  return isSnapshotFile(file, options)
}

async function writeAll(
  git: Git,
  options: RestoreOptions & { entries: ReadonlyMap<string, TreeEntry>; outcome: Outcome },
): Promise<void> {
  const { root, entries, outcome, signal } = options
  const byObject = new Map<string, { file: string; mode: string }[]>()
  for (const file of options.files) {
    const { mode, object } = entries.get(file)!
    if (mode === leftOutMode)
      outcome.set(file, (await isUntouched(root, { file, mark: object })) ? "restored" : "failed")
    else byObject.set(object, [...(byObject.get(object) ?? []), { file, mode }])
  }
  for await (const [object, content] of readBlobs(git, { objects: byObject.keys(), signal })) {
    for (const { file, mode } of byObject.get(object)!) {
      const done = await writeOne(root, { file, mode, content }).then(
        () => true,
        () => false,
      )
      outcome.set(file, done ? "restored" : "failed")
    }
  }
}

/** A file whose content is not stored can only be left unchanged. */
async function isUntouched(root: string, entry: { file: string; mark: string }): Promise<boolean> {
  const stats = await statsOf(root, entry.file).catch(() => undefined)
  return stats !== undefined && markOf(stats) === entry.mark
}

/** Throws if a directory of the path is a symlink or a file. */
async function statsOf(root: string, file: string): Promise<Stats | undefined> {
  const parent = join(root, dirname(file))
  const held = await holdDirectory(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined
    throw error
  })
  if (held === undefined) {
    // The directory is absent, or a symlink in its path leads nowhere.
    const above = dirname(file) === "." ? undefined : await statsOf(root, dirname(file))
    if (above !== undefined) throw new ReplacedError(parent)
    return undefined
  }
  await using _ = held
  return await held.stats(basename(file))
}

async function writeOne(root: string, entry: { file: string; mode: string; content: Buffer }): Promise<void> {
  await using held = await holdDirectory(join(root, dirname(entry.file)), { create: true })
  const name = basename(entry.file)
  const current = await held.stats(name)
  if (current && (await isSame(held, { ...entry, name, current }))) return
  // Only an empty directory is removed. If it contains other files, rmdir fails and so does this restore.
  if (current?.isDirectory()) await rmdir(held.entry(name))
  const draft = `.stemma-restore-${randomUUID()}`
  try {
    if (entry.mode === "120000") await symlink(entry.content, held.entry(draft))
    else await writeFileLike(held, { ...entry, draft, current })
    await held.check()
    await rename(held.entry(draft), held.entry(name))
  } catch (error) {
    await unlink(held.entry(draft)).catch(() => {})
    throw error
  }
}

/** Git stores only the executable bit of a mode. The other bits stay as they are or come from the umask. */
async function writeFileLike(
  held: HeldDirectory,
  options: { draft: string; mode: string; content: Buffer; current: Stats | undefined },
): Promise<void> {
  const executable = options.mode === "100755"
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
  await using handle = await held.open(options.draft, flags, executable ? 0o777 : 0o666)
  await handle.writeFile(options.content)
  if (options.current?.isFile()) await handle.chmod(modeFrom(options.current.mode, { executable }))
}

function modeFrom(current: number, options: { executable: boolean }): number {
  const bits = current & 0o777
  return options.executable ? bits | ((bits & 0o444) >> 2) : bits & ~0o111
}

async function isSame(
  held: HeldDirectory,
  entry: { name: string; mode: string; content: Buffer; current: Stats },
): Promise<boolean> {
  const { name, mode, content, current } = entry
  if (mode === "120000") {
    if (!current.isSymbolicLink()) return false
    return (await readlink(held.entry(name), { encoding: "buffer" })).equals(content)
  }
  const executable = (current.mode & 0o100) !== 0
  if (!current.isFile() || current.size !== content.length || executable !== (mode === "100755")) return false
  await using handle = await held.open(name, constants.O_RDONLY | constants.O_NONBLOCK)
  return (await handle.readFile()).equals(content)
}

async function removeAll(git: Git, options: RestoreOptions & { outcome: Outcome }): Promise<void> {
  const { root, outcome } = options
  const present: string[] = []
  for (const file of options.files) {
    try {
      const stats = await statsOf(root, file)
      if (stats && !stats.isDirectory()) present.push(file)
      else outcome.set(file, "removed")
    } catch {
      outcome.set(file, "failed")
    }
  }
  const ignored = await ignoredOf(git, { files: present, signal: options.signal })
  for (const file of present) {
    const done = !ignored.has(file) && (await removeOne(root, file))
    outcome.set(file, done ? "removed" : "failed")
  }
}

/** Removes a file, and the directories above it that are empty then. */
async function removeOne(root: string, file: string): Promise<boolean> {
  try {
    await using held = await holdDirectory(join(root, dirname(file)))
    await held.check()
    await unlink(held.entry(basename(file)))
  } catch {
    return false
  }
  for (let at = dirname(file); at !== "."; at = dirname(at)) {
    try {
      await using parent = await holdDirectory(join(root, dirname(at)))
      await rmdir(parent.entry(basename(at)))
    } catch {
      break
    }
  }
  return true
}

async function ignoredOf(
  git: Git,
  options: { files: readonly string[]; signal?: AbortSignal },
): Promise<Set<string>> {
  if (options.files.length === 0) return new Set()
  try {
    const args = ["check-ignore", "--no-index", "-z", "--stdin"]
    // A name that begins with a colon would be a pathspec with another meaning.
    const input = options.files.map((file) => `./${file}\0`).join("")
    const output = await git.run({ args, input, signal: options.signal })
    const named = output.toString("utf8").split("\0")
    return new Set(named.map((name) => name.slice(2)))
  } catch (error) {
    if (error instanceof GitError && error.exitCode === 1) return new Set()
    // A directory became a symlink after the files were looked at. Nothing behind a symlink is removed.
    if (error instanceof GitError && error.stderr.includes("beyond a symbolic link"))
      return new Set(options.files)
    throw error
  }
}
