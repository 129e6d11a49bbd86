import type { Dirent } from "node:fs"
import { readdir, readFile, stat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { isGuardedName } from "../../../workspace/path/guarded-names.ts"
import { isInside } from "../../../workspace/path/is-inside.ts"
import { nameOf, skippedDirectories } from "../../search/found-files.ts"
import type { WantsContext } from "../../tool.ts"
import type { FileWant } from "./analyse.ts"
import type { ResolvedFile, ResolvedFiles } from "./resolve-files.ts"

/** With more names than this, the tree is asked about as a whole. */
const namesMax = 100_000
/** How many files a person is shown in one question. */
const shownMax = 20
const ignoreBytesMax = 64 * 1024

const lookedAtMax = 5_000

/** Names in the workspace that may not be edited, for commands that may change any file in it. */
export async function deniedEdits(context: Pick<WantsContext, "workspace" | "decide">): Promise<string[]> {
  const denies = (name: string) => context.decide({ permission: "edit", patterns: [name] }) === "deny"
  if (denies("*")) return []
  const found: string[] = []
  const queue = [context.workspace.root]
  let names = 0
  for (let path = queue.shift(); path !== undefined && names < lookedAtMax; path = queue.shift()) {
    const entries = await readdir(path, { withFileTypes: true }).catch((): Dirent[] => [])
    names += entries.length
    for (const entry of entries) {
      if (skippedDirectories.includes(entry.name)) continue
      const name = nameOf(join(path, entry.name), context)
      if (entry.isDirectory()) queue.push(join(path, entry.name))
      found.push(...(entry.isDirectory() ? [`${name}/*`] : [name]).filter(denies))
    }
  }
  return found.slice(0, shownMax)
}

type Found = Omit<ResolvedFiles, "unknown">

/** The files below a directory that a command would read and that the rules do not allow to read without asking. */
export class TreeReads {
  private readonly file: FileWant
  private readonly context: Pick<WantsContext, "workspace" | "decide" | "signal">
  private readonly endings: readonly string[] | undefined
  private readonly follows: boolean
  private visible: boolean
  private names = 0
  private readonly asked: ResolvedFile[] = []
  private readonly denied: ResolvedFile[] = []
  private readonly wholes: Found["trees"] = []
  private readonly visited = new Set<string>()

  constructor(file: FileWant, context: Pick<WantsContext, "workspace" | "decide" | "signal">) {
    this.file = file
    this.context = context
    this.endings = file.endings ?? file.word?.endings
    this.follows = file.follows === true || file.word?.below === true
    this.visible = file.visible === true
  }

  async below(file: ResolvedFile): Promise<Found> {
    if (this.visible && (await this.unhides(file.path))) this.visible = false
    await this.walk(file)
    return { files: [...this.denied, ...this.asked], trees: this.wholes }
  }

  private async walk(file: ResolvedFile): Promise<void> {
    await this.checkOwn(file)
    const queue = [file.path]
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      if (this.visited.has(path)) continue
      this.visited.add(path)
      this.context.signal.throwIfAborted()
      const entries = await readdir(path, { withFileTypes: true }).catch((): Dirent[] => [])
      this.names += entries.length
      if (this.names > namesMax) {
        this.wholes.push({ name: `${file.name}/*`, reason: "large" })
        return
      }
      for (const entry of entries) await this.entry(entry, { path: join(path, entry.name), queue, file })
    }
  }

  /** Stemma's own files are found by their paths, so that none is missed in a tree of any size. */
  private async checkOwn(file: ResolvedFile): Promise<void> {
    for (const own of this.context.workspace.ownBelow(file.path)) {
      const stats = await stat(own).catch(() => undefined)
      if (stats?.isDirectory() || this.matches(basename(own)))
        this.wholes.push({ name: file.name, reason: "forbidden" })
    }
  }

  private async entry(
    entry: Dirent,
    { path, queue, file }: { path: string; queue: string[]; file: ResolvedFile },
  ): Promise<void> {
    if (this.visible && entry.name.startsWith(".")) return
    if (this.file.spreads && isGuardedName(entry.name))
      this.wholes.push({ name: nameOf(path, this.context), reason: "spreads" })
    if (entry.isDirectory()) queue.push(path)
    else if (entry.isSymbolicLink()) await this.link(path, { entry, queue })
    else if (this.matches(entry.name)) this.addByRule(nameOf(path, this.context), { ...file, path })
  }

  /** If the command follows symlinks, the target is read too. */
  private async link(path: string, { entry, queue }: { entry: Dirent; queue: string[] }): Promise<void> {
    if (!this.follows) return
    const location = await this.context.workspace.resolve(path).catch(() => undefined)
    if (!location?.exists) return
    const stats = await stat(location.path).catch(() => undefined)
    const found = { ...location, isDirectory: stats?.isDirectory() ?? false }
    if (found.isDirectory) {
      if (location.external) this.asked.push(found)
      else queue.push(location.path)
    } else if (this.matches(entry.name)) {
      if (location.external || location.forbidden) this.asked.push(found)
      else this.addByRule(location.name, found)
    }
  }

  private addByRule(name: string, file: ResolvedFile): void {
    const action = this.context.decide({ permission: "read", patterns: [name] })
    const list = action === "deny" ? this.denied : this.asked
    if (action === "allow" || list.length >= shownMax) return
    list.push({ ...file, name, isDirectory: false, guarded: false, forbidden: false })
  }

  private matches(name: string): boolean {
    return this.endings === undefined || this.endings.some((ending) => name.endsWith(ending))
  }

  /** True if an ignore file in, below or above this directory re-includes names that begin with a dot. */
  private async unhides(directory: string): Promise<boolean> {
    const { root } = this.context.workspace
    const inside = await this.ignoreFiles(directory)
    const above: string[] = []
    for (let at = directory; isInside(at, root); at = dirname(at)) {
      above.push(...[".gitignore", ".ignore", ".rgignore"].map((name) => join(at, name)))
      if (at === dirname(at)) break
    }
    for (const file of new Set([...inside, ...above])) {
      const stats = await stat(file).catch(() => undefined)
      if (!stats?.isFile()) continue
      if (stats.size > ignoreBytesMax || /^\s*!/m.test(await readFile(file, "utf8").catch(() => "!")))
        return true
    }
    return false
  }

  private async ignoreFiles(directory: string): Promise<string[]> {
    const found: string[] = []
    const queue = [directory]
    let names = 0
    for (let path = queue.shift(); path !== undefined && names < namesMax; path = queue.shift()) {
      const entries = await readdir(path, { withFileTypes: true }).catch((): Dirent[] => [])
      names += entries.length
      for (const entry of entries) {
        if (entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules")
          queue.push(join(path, entry.name))
        else if (/^\.(?:git|rg)?ignore$/.test(entry.name)) found.push(join(path, entry.name))
      }
    }
    return found
  }
}
