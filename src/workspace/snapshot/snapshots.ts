import { randomUUID } from "node:crypto"
import { mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join, relative, resolve, sep } from "node:path"
import { StemmaError } from "../../protocol/error/error.ts"
import { findGit, type Git, GitError, gitVersion, initGit, openGit } from "../git/git-command.ts"
import { gitLocation, homeDirectory } from "../git/git-location.ts"
import { isInside } from "../path/is-inside.ts"
import type { CommitOf, Snapshots } from "../workspace.ts"
import { SharedWork } from "./shared-work.ts"
import { changedFiles, diffFiles, manyDiffs } from "./snapshot-diff.ts"
import { checkSnapshot, readSnapshots } from "./snapshot-objects.ts"
import { restoreFiles } from "./snapshot-restore.ts"
import { Taker, takenDirectory } from "./snapshot-take.ts"

export interface SnapshotsOptions {
  /** The workspace's root: a real path. */
  root: string
  /**
   * The git directory of the snapshots; created when first needed. One for each root, shared by any number of
   * processes.
   */
  gitDirectory: string
  /** Directories that are never part of a snapshot, such as Stemma's own, if they are below the root. */
  own?: readonly string[]
  /** The git program; if absent, the `git` of PATH that is not part of the project. */
  git?: string
  /** Aborts all work. */
  signal?: AbortSignal
  /** If a take lasts longer, snapshots are turned off. */
  timeoutMs?: number
}

export interface GitSnapshots extends Snapshots {
  /** Removes snapshots that were last taken this many days ago, and contents that no other snapshot has. */
  collect(keepDays: number): Promise<void>
}

const takeTimeoutMs = 30_000
const readTimeoutMs = 120_000
const collectTimeoutMs = 10 * 60_000
/** The first version of git with all options that are used. */
const versionMin = [2, 25] as const
const draftAgeMs = 60 * 60 * 1000

/** Overrides a project's `.gitattributes`, so that contents are stored byte for byte and counted as text. */
const attributes = "* -text -crlf !eol -ident -filter -working-tree-encoding !diff\n"
/** Directories to ignore where no repository has ignore rules. */
const usuallyIgnored = ["node_modules/", ".venv/", "__pycache__/"]

/** Never throws. A problem is found when the first snapshot is taken, and `unavailable` then describes it. */
export function openSnapshots(options: SnapshotsOptions): GitSnapshots {
  return new SystemGitSnapshots(options)
}

interface Opened {
  git: Git
  taker: Taker
}

class SystemGitSnapshots implements GitSnapshots {
  readonly #options: SnapshotsOptions
  readonly #own: string[]
  #opened: Promise<Opened> | undefined
  #unavailable: string | undefined
  /** True if the problem cannot go away while the process runs. */
  #forGood = false
  #queue: Promise<unknown> = Promise.resolve()
  /** A take that is queued. */
  #next: SharedWork<string | undefined> | undefined

  constructor(options: SnapshotsOptions) {
    this.#options = options
    this.#own = [...(options.own ?? []), options.gitDirectory].map((path) => resolve(path))
  }

  get unavailable(): string | undefined {
    return this.#unavailable
  }

  /** Callers that ask while a take is queued share that take, because it will read the files later. */
  async take(signal?: AbortSignal): Promise<string | undefined> {
    if (!this.#next || this.#next.isAborted) {
      const next = new SharedWork((all) =>
        this.#inTurn(() => {
          if (this.#next === next) this.#next = undefined
          return this.#takeNow(all)
        }),
      )
      this.#next = next
    }
    return this.#next.join(signal)
  }

  async #takeNow(signal: AbortSignal): Promise<string | undefined> {
    if (this.#forGood) return undefined
    const timeoutMs = this.#options.timeoutMs ?? takeTimeoutMs
    const timeout = AbortSignal.timeout(timeoutMs)
    const asked = [signal, this.#options.signal].filter((one) => one !== undefined)
    try {
      const any = AbortSignal.any([...asked, timeout])
      const { taker } = await this.#open(any)
      const tree = await taker.take(any)
      this.#unavailable = undefined
      return tree
    } catch (error) {
      for (const one of asked) one.throwIfAborted()
      if (timeout.aborted) {
        const seconds = Math.round(timeoutMs / 1000)
        this.#giveUp(
          `a snapshot of ${this.#options.root} takes more than ${seconds} s. Ignore large directories.`,
        )
      } else this.#unavailable = unavailableText(reasonOf(error))
      return undefined
    }
  }

  async changed(from: string, to: string): Promise<string[]> {
    const trees = { from: checkSnapshot(from), to: checkSnapshot(to) }
    if (from === to) return []
    return this.#read((git, signal) => changedFiles(git, { ...trees, signal }))
  }

  async diff(from: string, to: string, files?: readonly string[]) {
    const trees = { from: checkSnapshot(from), to: checkSnapshot(to) }
    if (from === to) return []
    return this.#read((git, signal) => diffFiles(git, { ...trees, files, signal }))
  }

  async since({ commit, fork, objects }: CommitOf) {
    const commits = [commit, ...(fork === undefined ? [] : [fork])].map(checkSnapshot)
    const to = await this.take()
    if (to === undefined) return undefined
    return this.#read(async (git, signal) => {
      const read: Git = { run: (options) => git.run({ ...options, objects }) }
      const args = ["merge-base", ...commits]
      const from = fork === undefined ? commit : (await read.run({ args, signal })).toString().trim()
      return manyDiffs(read, { from: checkSnapshot(from), to, signal, withoutLinks: true })
    })
  }

  async restore(snapshot: string, files: readonly string[]) {
    checkSnapshot(snapshot)
    const { root } = this.#options
    // A caller that asks from now on must see the result of this restore.
    this.#next = undefined
    return this.#inTurn(() =>
      this.#read((git, signal) => restoreFiles(git, { root, own: this.#own, snapshot, files, signal })),
    )
  }

  async collect(keepDays: number): Promise<void> {
    const { gitDirectory } = this.#options
    if (!(await isGitDirectory(gitDirectory))) return
    await forgetTaken(gitDirectory, { keepMs: keepDays * 24 * 60 * 60 * 1000 })
    await removeDrafts(gitDirectory)
    const signal = this.#deadline(collectTimeoutMs)
    const { git } = await this.#open(signal)
    // A take in progress has no ref yet, but its objects are newer than an hour.
    await git.run({ args: ["gc", "--quiet", "--prune=1.hour.ago"], signal }).catch((error: unknown) => {
      if (!(error instanceof GitError)) throw error
      // Another process already runs gc.
      if (error.stderr.includes("already running")) return
      throw new StemmaError("unavailable", `Old snapshots could not be removed: ${error.message}`, {
        cause: error,
      })
    })
  }

  async #read<T>(read: (git: Git, signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = this.#deadline(readTimeoutMs)
    const { git } = await this.#open(signal).catch((error: unknown) => {
      throw StemmaError.is(error)
        ? error
        : new StemmaError("unavailable", unavailableText(reasonOf(error)), { cause: error })
    })
    return readSnapshots(() => read(git, signal))
  }

  #deadline(timeoutMs: number): AbortSignal {
    const timeout = AbortSignal.timeout(timeoutMs)
    return this.#options.signal ? AbortSignal.any([timeout, this.#options.signal]) : timeout
  }

  /**
   * Runs takes and restores one after another: they share the state of the index, and a take must not see half of a
   * restore.
   */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work)
    this.#queue = turn.catch(() => {})
    return turn
  }

  #open(signal: AbortSignal): Promise<Opened> {
    this.#opened ??= this.#start(signal).catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async #start(signal: AbortSignal): Promise<Opened> {
    const { root, gitDirectory } = this.#options
    if (isInside(await homeDirectory(), root)) {
      throw this.#giveUp("snapshots of a whole home directory are not taken. Start in a project's directory.")
    }
    const program = await findGit(this.#options.git, { root }).catch((error: Error) => {
      throw this.#giveUp(`${error.message} Then start again.`)
    })
    if (!(await isGitDirectory(gitDirectory))) {
      await mkdir(dirname(resolve(gitDirectory)), { recursive: true, mode: 0o700 })
      await this.#checkVersion(program, signal)
      await makeGitDirectory(program, { gitDirectory, root, signal })
    }
    const location = await gitLocation(root)
    const own = await Promise.all(this.#own.map((path) => realpath(path).catch(() => path)))
    this.#own.push(...own)
    await writeRules(gitDirectory, { root, own, hasRepository: location !== undefined })
    await removeDrafts(gitDirectory)
    const excludesFile = location
      ? await plainFile(join(location.commonDirectory, "info", "exclude"))
      : "/dev/null"
    const git = openGit({ program, gitDirectory, root, excludesFile })
    const userIndex = location && join(location.gitDirectory, "index")
    return { git, taker: new Taker({ git, gitDirectory, root, own: this.#own, userIndex }) }
  }

  async #checkVersion(program: string, signal: AbortSignal): Promise<void> {
    const { root, gitDirectory } = this.#options
    const directory = dirname(resolve(gitDirectory))
    const [major = 0, minor = 0] = await gitVersion(program, { directory, root, signal })
    if (major > versionMin[0] || (major === versionMin[0] && minor >= versionMin[1])) return
    throw this.#giveUp(`git ${major}.${minor} is too old. Install ${versionMin.join(".")} or newer.`)
  }

  #giveUp(reason: string): StemmaError {
    this.#forGood = true
    this.#unavailable = unavailableText(reason)
    return new StemmaError("unavailable", this.#unavailable)
  }
}

function unavailableText(reason: string): string {
  return reason.startsWith("Files are not restored") ? reason : `Files are not restored: ${reason}`
}

function reasonOf(error: unknown): string {
  if (error instanceof GitError || StemmaError.is(error)) return error.message
  const { code, message } = error as NodeJS.ErrnoException
  return code === undefined ? message : `${message}. Check the disk and its permissions.`
}

/** A pipe at this path would never end. */
async function plainFile(path: string): Promise<string> {
  const stats = await stat(path).catch(() => undefined)
  return stats === undefined || stats.isFile() ? path : "/dev/null"
}

async function isGitDirectory(path: string): Promise<boolean> {
  const found = await Promise.all(
    ["HEAD", "objects"].map((name) => stat(join(path, name)).catch(() => undefined)),
  )
  return found.every((stats) => stats !== undefined)
}

/**
 * The git directory is created under another name and then renamed, so that only one of two processes creates it and
 * neither sees it half done.
 */
async function makeGitDirectory(
  program: string,
  options: { gitDirectory: string; root: string; signal: AbortSignal },
): Promise<void> {
  const { gitDirectory, root, signal } = options
  const draft = `${resolve(gitDirectory)}-${randomUUID()}`
  try {
    await mkdir(draft, { mode: 0o700 })
    await initGit(program, { gitDirectory: draft, root, signal })
    await mkdir(join(draft, "info"), { recursive: true })
    await writeFile(join(draft, "info", "attributes"), attributes)
    await rename(draft, gitDirectory)
  } catch (error) {
    if (!(await isGitDirectory(gitDirectory))) throw error
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function writeRules(
  gitDirectory: string,
  options: { root: string; own: readonly string[]; hasRepository: boolean },
): Promise<void> {
  const { root, own, hasRepository } = options
  const below = own.filter((path) => isInside(path, root) && path !== root && !path.includes("\n"))
  const lines = below.map((path) => `/${escapeRule(relative(root, path).split(sep).join("/"))}`)
  const text = [...(hasRepository ? [] : usuallyIgnored), ...lines, ""].join("\n")
  const file = join(gitDirectory, "info", "exclude")
  if ((await readFile(file, "utf8").catch(() => undefined)) === text) return
  const draft = `${file}-${randomUUID()}`
  await writeFile(draft, text)
  await rename(draft, file)
}

function escapeRule(path: string): string {
  return path.replace(/[\\*?[\]! #]/g, "\\$&")
}

async function forgetTaken(gitDirectory: string, options: { keepMs: number }): Promise<void> {
  const directory = takenDirectory(gitDirectory)
  const oldest = Date.now() - options.keepMs
  for (const name of await readdir(directory).catch(() => [])) {
    const file = join(directory, name)
    const stats = await stat(file).catch(() => undefined)
    if (stats && (stats.mtimeMs < oldest || stats.size === 0)) await rm(file, { force: true })
  }
}

/** Removes drafts that killed processes left behind. */
async function removeDrafts(gitDirectory: string): Promise<void> {
  for (const name of await readdir(gitDirectory)) {
    if (!/^(index-|taken-)|^index\.lock$/.test(name)) continue
    const file = join(gitDirectory, name)
    const stats = await stat(file).catch(() => undefined)
    // An index in use may be a hard link of one that was written long ago. Only its change time says when the link was
    // made.
    if (stats && stats.ctimeMs < Date.now() - draftAgeMs) await rm(file, { force: true })
  }
}
