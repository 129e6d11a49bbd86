import { randomUUID } from "node:crypto"
import { copyFile, link, mkdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Git, GitError } from "../git/git-command.ts"
import { correctedEntries, type DirectoryStates, directoryStates } from "./snapshot-confirm.ts"
import {
  leftOutMode,
  parseListed,
  removedEntry,
  type SortedFiles,
  sortListed,
  trackedBytesMax,
} from "./snapshot-files.ts"

/** How many files one git process reads. If a take is aborted, finished batches need not be read again. */
const batchFiles = 5000
/** With more files that git cannot read than this, the take fails: the problem is not a few odd files. */
const refusalsMax = 200
const stampAgainMs = 60 * 60 * 1000
/** Failures of the disk, not of a file of the work tree. */
const storageFailure =
  /no space left|disk quota|read-only file system|unable to (create|write)|insufficient perm/i

export interface TakerOptions {
  git: Git
  gitDirectory: string
  root: string
  own: readonly string[]
  /** The index of the user's repository. It is only read. */
  userIndex: string | undefined
}

/**
 * Writes trees of the work tree. All processes share the index, in which git remembers the state of each file, so that
 * only changed files are read. No lock is needed: each take works on its own copy and then renames it over the shared
 * one. The last take wins, and every index is valid, because a take compares its copy with every file.
 */
export class Taker {
  readonly #options: TakerOptions
  readonly #shared: string
  /** The tree of the shared index when this process last saw it. */
  #last: { identity: string; tree: string } | undefined
  /** Files of the index whose content is not stored, as of `#last`. */
  readonly #leftOut = new Map<string, string>()
  readonly #refused = new Map<string, string>()
  /** The identity of the user's index when its ignored files were last listed. */
  #userIndexSeen: string | undefined
  readonly #stampedAt = new Map<string, number>()

  constructor(options: TakerOptions) {
    this.#options = options
    this.#shared = join(options.gitDirectory, "index")
  }

  async take(signal: AbortSignal): Promise<string> {
    let tree: string
    try {
      tree = await this.#takeOnce(signal)
    } catch (error) {
      if (!(error instanceof GitError) || storageFailure.test(error.stderr)) throw error
      // An index that is damaged, or that names missing objects, is built again from the files.
      await rm(this.#shared, { force: true })
      tree = await this.#takeOnce(signal)
    }
    await this.#stamp(tree)
    return tree
  }

  async #takeOnce(signal: AbortSignal): Promise<string> {
    const index = `${this.#shared}-${randomUUID()}`
    let progress = false
    try {
      const base = await copyIndex(this.#shared, index)
      if (base === undefined || base !== this.#last?.identity) {
        this.#leftOut.clear()
        this.#userIndexSeen = undefined
      }
      const sorted = await this.#differences({ index, signal })
      const entries = await this.#entries(sorted, signal)
      if (base !== undefined && base === this.#last?.identity && entries.length + sorted.keep.length === 0) {
        return this.#last.tree
      }
      this.#last = undefined
      const run = { index, signal, onProgress: () => (progress = true) }
      await this.#putEntries(entries, run)
      const before = await directoryStates(this.#options.root, sorted.keep)
      await this.#putFiles(sorted, run)
      const tree = await this.#writeTree(sorted.keep, { before, run })
      progress = true
      this.#last = { identity: await identityOf(index), tree }
      return tree
    } finally {
      if (progress) await rename(index, this.#shared).catch(() => {})
      await Promise.all([index, `${index}.lock`].map((path) => rm(path, { force: true })))
    }
  }

  async #differences(options: { index: string; signal: AbortSignal }): Promise<SortedFiles> {
    const { git, root, own } = this.#options
    const args = ["ls-files", "-z", "-t", "--others", "--modified", "--deleted", "--exclude-standard"]
    const [output, held] = await Promise.all([
      git.run({ args, ...options }),
      this.#ignoredButHeld(options.signal),
    ])
    const listed = parseListed(output)
    const known = new Set([...listed.others, ...listed.differing])
    listed.others.push(...held.filter((path) => !known.has(path)))
    return sortListed(listed, { root, own, refused: this.#refused, signal: options.signal })
  }

  /** The lines for `update-index --index-info`. Moves large files that the user's repository contains to `keep`. */
  async #entries(sorted: SortedFiles, signal: AbortSignal): Promise<string[]> {
    const entries = sorted.remove.map(removedEntry)
    const fresh = sorted.large.filter(
      ({ path, mark, listedBefore }) => !listedBefore || this.#leftOut.get(path) !== mark,
    )
    const tracked = await this.#trackedByUser(
      fresh.filter(({ bytes }) => bytes <= trackedBytesMax).map(({ path }) => path),
      signal,
    )
    for (const { path, mark } of fresh) {
      if (tracked.has(path)) {
        sorted.keep.push(path)
        sorted.marks.set(path, mark)
      } else {
        entries.push(`${leftOutMode} ${mark}\t${path}`)
        this.#leftOut.set(path, mark)
      }
    }
    return entries
  }

  /**
   * Files that match an ignore rule but are tracked by the user's repository. Empty if the user's index has not changed
   * since the last call.
   */
  async #ignoredButHeld(signal: AbortSignal): Promise<string[]> {
    const { userIndex } = this.#options
    const seen = userIndex === undefined ? undefined : await identityOf(userIndex).catch(() => undefined)
    if (userIndex === undefined || seen === undefined || seen === this.#userIndexSeen) return []
    const held = await this.#readUserIndex(["--ignored", "--exclude-standard"], signal)
    this.#userIndexSeen = seen
    return held
  }

  async #trackedByUser(paths: readonly string[], signal: AbortSignal): Promise<Set<string>> {
    if (paths.length === 0) return new Set()
    const known = new Set(await this.#readUserIndex([], signal))
    return new Set(paths.filter((path) => known.has(path)))
  }

  /** An index that git cannot read without its repository (a split or sparse index) counts as empty. */
  async #readUserIndex(flags: readonly string[], signal: AbortSignal): Promise<string[]> {
    const { git, userIndex } = this.#options
    if (userIndex === undefined) return []
    try {
      const output = await git.run({
        args: ["ls-files", "-z", "--cached", ...flags],
        index: userIndex,
        signal,
      })
      return output.toString("utf8").split("\0").slice(0, -1)
    } catch (error) {
      if (!(error instanceof GitError)) throw error
      return []
    }
  }

  async #putEntries(entries: readonly string[], run: IndexRun): Promise<void> {
    if (entries.length === 0) return
    const args = ["update-index", "--add", "--replace", "-z", "--index-info"]
    await this.#options.git.run({
      args,
      input: `${entries.join("\0")}\0`,
      index: run.index,
      signal: run.signal,
    })
    run.onProgress()
  }

  async #putFiles(sorted: SortedFiles, run: IndexRun): Promise<void> {
    const refused: string[] = []
    for (let at = 0; at < sorted.keep.length; at += batchFiles) {
      await this.#putBatch(sorted.keep.slice(at, at + batchFiles), { ...run, refused })
    }
    const entries = refused.map((path) => {
      const mark = sorted.marks.get(path)!
      this.#refused.set(path, mark)
      return `${leftOutMode} ${mark}\t${path}`
    })
    await this.#putEntries(entries, run)
  }

  /** The tree of the index, after content that git may have read outside the project is replaced. */
  async #writeTree(
    files: readonly string[],
    { before, run }: { before: DirectoryStates; run: IndexRun },
  ): Promise<string> {
    const { git, root } = this.#options
    const { index, signal } = run
    const write = async () => (await git.run({ args: ["write-tree"], index, signal })).toString().trim()
    const [tree, corrected] = await Promise.all([
      write(),
      correctedEntries(git, { root, files, before, index, signal }),
    ])
    if (corrected.length === 0) return tree
    await this.#putEntries(corrected, run)
    return write()
  }

  /** One file that git cannot add, such as an unreadable one, fails the whole batch. Halving the batch finds it. */
  async #putBatch(paths: readonly string[], run: IndexRun & { refused: string[] }): Promise<void> {
    try {
      const args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]
      await this.#options.git.run({
        args,
        input: `${paths.join("\0")}\0`,
        index: run.index,
        signal: run.signal,
      })
      run.onProgress()
    } catch (error) {
      const { refused } = run
      if (!(error instanceof GitError) || storageFailure.test(error.stderr) || refused.length >= refusalsMax)
        throw error
      if (paths.length === 1) {
        refused.push(paths[0]!)
        return
      }
      const half = Math.ceil(paths.length / 2)
      await this.#putBatch(paths.slice(0, half), run)
      await this.#putBatch(paths.slice(half), run)
    }
  }

  /**
   * A ref keeps a tree from being removed. The modification time of the ref's file says when the tree was last taken.
   */
  async #stamp(tree: string): Promise<void> {
    const nowMs = Date.now()
    if (nowMs - (this.#stampedAt.get(tree) ?? 0) < stampAgainMs) return
    const directory = takenDirectory(this.#options.gitDirectory)
    const file = join(directory, tree)
    const now = new Date(nowMs)
    try {
      await utimes(file, now, now)
    } catch {
      await mkdir(directory, { recursive: true })
      const draft = join(this.#options.gitDirectory, `taken-${randomUUID()}`)
      await writeFile(draft, `${tree}\n`)
      await rename(draft, file)
    }
    this.#stampedAt.set(tree, nowMs)
  }
}

interface IndexRun {
  index: string
  signal: AbortSignal
  onProgress: () => void
}

export function takenDirectory(gitDirectory: string): string {
  return join(gitDirectory, "refs", "taken")
}

/**
 * Copies the index and returns its identity; undefined if there is no index yet. A hard link is enough, because git
 * never writes into an index in place.
 */
async function copyIndex(from: string, to: string): Promise<string | undefined> {
  try {
    await link(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    const { atime, mtime } = await stat(from)
    await copyFile(from, to)
    // Git reads a file again if it changed at or after the time of the index, so the copy must not get a later time.
    await utimes(to, atime, mtime)
  }
  return identityOf(to)
}

async function identityOf(index: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(index, { bigint: true })
  return `${ino} ${size} ${mtimeNs}`
}
