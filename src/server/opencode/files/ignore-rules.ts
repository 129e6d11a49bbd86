import { constants } from "node:fs"
import { open, stat } from "node:fs/promises"
import { isAbsolute, join, relative, resolve, sep } from "node:path"
import { skippedDirectories } from "../../../tools/search/found-files.ts"
import { compileGlob } from "../../../tools/search/glob-match.ts"
import { gitLocation } from "../../../workspace/git/git-location.ts"

const ignoreBytesMax = 1024 * 1024
const rulesMax = 1000

interface Named {
  name: string
  isDirectory: boolean
}

interface Rule {
  /** By the path from the directory that holds the ignore file, with `/`. */
  matches: (path: string) => boolean
  onlyDirectories: boolean
  isIgnored: boolean
}

/** The rules of one file, and the directory that they begin in. */
interface IgnoreFile {
  directory: string
  rules: Rule[]
}

export interface IgnoreOptions {
  /** Where the project begins; a real path. */
  root: string
  /** Tells where the user's own git config is. */
  environment: Record<string, string>
}

/**
 * Which entries of a directory (a real path inside the root) nobody searches: those that ignore files name, as git and
 * ripgrep read them, and everything below such a directory. Files are read, nothing is run.
 */
export async function ignoredIn(
  directory: string,
  { root, environment }: IgnoreOptions,
): Promise<(entry: Named) => boolean> {
  const kinds = await outerFiles(root, environment)
  const names = relative(root, directory).split(sep).filter(Boolean)
  let at = root
  await kinds.enter(at)
  for (const name of names) {
    if (kinds.ignores({ name, isDirectory: true }, at)) return () => true
    at = join(at, name)
    await kinds.enter(at)
  }
  return (entry) => kinds.ignores(entry, at)
}

/** The ignore files that hold in a directory, by kind: the first kind that says something decides, and in it the nearest file. */
class IgnoreFiles {
  readonly #own: IgnoreFile[] = []
  readonly #git: IgnoreFile[]
  readonly #isGit: boolean

  constructor(git: IgnoreFile[] | undefined) {
    this.#git = git ?? []
    this.#isGit = git !== undefined
  }

  async enter(directory: string): Promise<void> {
    const read = (name: string) => readRules(join(directory, name), directory)
    for (const file of [await read(".ignore"), await read(".rgignore")]) if (file) this.#own.push(file)
    const file = this.#isGit ? await read(".gitignore") : undefined
    if (file) this.#git.push(file)
  }

  ignores({ name, isDirectory }: Named, directory: string): boolean {
    if (isDirectory && skippedDirectories.includes(name)) return true
    const path = join(directory, name)
    for (const file of [...this.#git, ...this.#own].reverse()) {
      const below = relative(file.directory, path).split(sep).join("/")
      const rule = file.rules.findLast((one) => (isDirectory || !one.onlyDirectories) && one.matches(below))
      if (rule) return rule.isIgnored
    }
    return false
  }
}

/** What holds in the whole work tree: the user's own rules, and before them those of the repository alone. */
async function outerFiles(root: string, environment: Record<string, string>): Promise<IgnoreFiles> {
  const location = await gitLocation(root)
  if (!location) return new IgnoreFiles(undefined)
  const users = await userExcludes(environment)
  const files = [users, join(location.commonDirectory, "info", "exclude")]
  const read = await Promise.all(
    files.map((path) => (path === undefined ? undefined : readRules(path, root))),
  )
  return new IgnoreFiles(read.filter((file) => file !== undefined))
}

/** `core.excludesFile` of the user, as far as it is plainly written, or where git looks without one. */
async function userExcludes(environment: Record<string, string>): Promise<string | undefined> {
  const { HOME: home = "" } = environment
  if (!isAbsolute(home)) return undefined
  const { XDG_CONFIG_HOME: config = join(home, ".config") } = environment
  for (const path of [join(home, ".gitconfig"), join(config, "git", "config")]) {
    const named = /^\s*excludesfile\s*=\s*"?\s*([^\s"]+)/im.exec((await readShort(path)) ?? "")?.[1]
    if (named !== undefined) return resolve(home, named.replace(/^~\//, ""))
  }
  return join(config, "git", "ignore")
}

async function readRules(path: string, directory: string): Promise<IgnoreFile | undefined> {
  const lines = (await readShort(path))?.replace(/^\uFEFF/, "").split(/\r?\n/)
  const rules = lines?.slice(0, rulesMax).flatMap((line) => ruleOf(line) ?? [])
  return rules && { directory, rules }
}

/** Undefined for a line that says nothing, or nothing that anybody understands. */
function ruleOf(line: string): Rule | undefined {
  const text = line.replace(/(?<!\\)\s+$/, "")
  if (text === "" || text.startsWith("#")) return undefined
  const isIgnored = !text.startsWith("!")
  const pattern = isIgnored ? text : text.slice(1)
  const onlyDirectories = pattern.endsWith("/")
  const plain = pattern.replace(/\/$/, "")
  const isAnchored = plain.includes("/")
  // `a/**` is what is in `a`, not `a` itself.
  // Braces mean nothing to git.
  const glob = plain
    .replace(/^\//, "")
    .replace(/\/\*\*$/, "/**/*")
    .replace(/(?<!\\)[{}]/g, "\\$&")
  if (glob === "") return undefined
  const matches = matcherOf(glob, { isTop: isAnchored && !glob.includes("/") })
  return matches && { matches, onlyDirectories, isIgnored }
}

function matcherOf(glob: string, { isTop }: { isTop: boolean }): Rule["matches"] | undefined {
  // Most are plain names, and many entries are held against them.
  if (!/[*?[{\\]/.test(glob)) {
    const isWhole = isTop || glob.includes("/")
    return (path) => path === glob || (!isWhole && path.endsWith(`/${glob}`))
  }
  try {
    const matches = compileGlob(glob)
    return isTop ? (path) => !path.includes("/") && matches(path) : matches
  } catch {
    return undefined
  }
}

/** Undefined if there is no such regular file, or nobody can read it. A pipe is not waited for. */
async function readShort(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return undefined
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = await handle.stat()
    return stats.isFile() && stats.size <= ignoreBytesMax ? await handle.readFile("utf8") : undefined
  } catch {
    return undefined
  }
}
