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
  /** Takes the path relative to the directory of the ignore file, with `/`. */
  matches: (path: string) => boolean
  onlyDirectories: boolean
  isIgnored: boolean
}

/** The rules of one ignore file, and the directory that they apply to. */
interface IgnoreFile {
  directory: string
  rules: Rule[]
}

export interface IgnoreOptions {
  /** The root directory of the project; a real path. */
  root: string
  /** `HOME` and `XDG_CONFIG_HOME` in it lead to the git config of the user. */
  environment: Record<string, string>
}

/**
 * Returns a function that tells whether an entry of `directory` (a real path inside the root) is ignored: by a rule of an
 * ignore file, as git and ripgrep read these files, or because a directory above it is ignored. Runs no program.
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

/** The ignore files that apply in a directory. `.ignore` and `.rgignore` come before git's files, nearer files before others. */
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

/** The ignore files for the whole work tree: `info/exclude` of the repository comes before the file of the user. */
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

/** The path in `core.excludesFile` of the user's git config, or git's default path. Includes in the config are not read. */
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

/** Undefined for an empty line, a comment or an invalid pattern. */
function ruleOf(line: string): Rule | undefined {
  const text = line.replace(/(?<!\\)\s+$/, "")
  if (text === "" || text.startsWith("#")) return undefined
  const isIgnored = !text.startsWith("!")
  const pattern = isIgnored ? text : text.slice(1)
  const onlyDirectories = pattern.endsWith("/")
  const plain = pattern.replace(/\/$/, "")
  const isAnchored = plain.includes("/")
  // `a/**` matches everything inside `a`, but not `a` itself. Braces are ordinary characters to git.
  const glob = plain
    .replace(/^\//, "")
    .replace(/\/\*\*$/, "/**/*")
    .replace(/(?<!\\)[{}]/g, "\\$&")
  if (glob === "") return undefined
  const matches = matcherOf(glob, { isTop: isAnchored && !glob.includes("/") })
  return matches && { matches, onlyDirectories, isIgnored }
}

function matcherOf(glob: string, { isTop }: { isTop: boolean }): Rule["matches"] | undefined {
  // Most patterns are plain names, and each is compared with every entry.
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

/** Undefined if the path is not a readable regular file or the file is too big. Never waits for a pipe. */
async function readShort(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return undefined
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = await handle.stat()
    // A file of /proc says that it is empty, and may have no end.
    const isShort = stats.isFile() && stats.size > 0 && stats.size <= ignoreBytesMax
    return isShort ? await handle.readFile("utf8") : undefined
  } catch {
    return undefined
  }
}
