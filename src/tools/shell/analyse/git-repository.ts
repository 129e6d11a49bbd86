import { lstat, readFile, stat } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"

const configBytesMax = 256 * 1024
const gitFileBytesMax = 4_096
const includesMax = 10

/**
 * Why git, started in a directory, may run a program although its command only reads: the config or a hook of a
 * repository around the directory says so. Such a repository comes in an archive or a shared directory, not by cloning.
 * The user's own config is not checked, because the user wrote it. Undefined if there is no such program.
 */
export async function programOfRepository(directory: string): Promise<string | undefined> {
  // Which of the directories git accepts as its repository is not decided here: none of them may name a program.
  for (let at = directory; ; at = dirname(at)) {
    const found = await programNear(at)
    if (found !== undefined) return `${found} in ${join(at, ".git")}`
    if (at === dirname(at)) return undefined
  }
}

async function programNear(directory: string): Promise<string | undefined> {
  const dotGit = join(directory, ".git")
  const stats = await stat(dotGit).catch(() => undefined)
  if (stats === undefined) return undefined
  const gitDirectory = stats.isDirectory() ? dotGit : await pointedTo(dotGit, "gitdir: ")
  if (gitDirectory === undefined) return "a file that cannot be parsed"
  const common = (await pointedTo(join(gitDirectory, "commondir"), "")) ?? gitDirectory
  const config = new RepositoryConfig(directory)
  await config.read(join(common, "config"))
  for (const one of new Set([common, gitDirectory])) await config.read(join(one, "config.worktree"))
  if (config.program !== undefined) return config.program
  const hooks = config.hooksPath === undefined ? join(common, "hooks") : resolve(directory, config.hooksPath)
  const hook = await stat(join(hooks, "post-index-change")).catch(() => undefined)
  return hook === undefined ? undefined : "the hook post-index-change"
}

async function pointedTo(file: string, prefix: string): Promise<string | undefined> {
  const text = await readSmall(file, gitFileBytesMax)
  if (text === undefined || !text.startsWith(prefix)) return undefined
  return resolve(dirname(file), text.trimEnd().slice(prefix.length))
}

async function readSmall(file: string, bytesMax: number): Promise<string | undefined> {
  const stats = await stat(file).catch(() => undefined)
  if (!stats?.isFile() || stats.size > bytesMax) return undefined
  return readFile(file, "utf8").catch(() => undefined)
}

/** Keys whose values are programs that a reading command may start, or that make it fetch through one. */
const programs =
  /^(?:core\.fsmonitor|diff\.(?:external|command|textconv)|filter\.(?:clean|smudge|process)|gpg\.program|extensions\.partialclone|remote\.(?:promisor|partialclonefilter)|submodule\.ignore)$/
const harmlessValues = /^(?:true|false|git-(?:lfs|crypt)(?: [a-z-]+)*(?: --)?(?: %f)?)?$/

class RepositoryConfig {
  program: string | undefined
  hooksPath: string | undefined
  private readonly directory: string
  private readonly seen = new Set<string>()

  constructor(directory: string) {
    this.directory = directory
  }

  async read(file: string): Promise<void> {
    if (this.seen.has(file) || !(await lstat(file).catch(() => undefined))) return
    this.seen.add(file)
    const text = await readSmall(file, configBytesMax)
    // Git itself never writes a line that continues on the next one.
    if (text === undefined || /\\\r?$|\0/m.test(text) || this.seen.size > includesMax) {
      this.program ??= "a config that cannot be parsed"
      return
    }
    let section = ""
    for (const line of text.replace(/^\ufeff/, "").split("\n")) {
      const header = /^\s*\[\s*([A-Za-z0-9-]+)(?:\.[^\]"]*)?\s*(?:"(?:[^"\\]|\\.)*")?\s*\]/.exec(line)
      if (header) section = header[1]!.toLowerCase()
      const rest = line.slice(header?.[0].length ?? 0).trim()
      if (rest !== "" && !/^[#;]/.test(rest)) await this.entry(section, { rest, file })
    }
  }

  private async entry(section: string, { rest, file }: { rest: string; file: string }): Promise<void> {
    const [, name, written] = /^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$/s.exec(rest) ?? []
    if (name === undefined || section === "") {
      this.program ??= "a config that cannot be parsed"
      return
    }
    const key = `${section}.${name.toLowerCase()}`
    const text = written ?? "true"
    const value = /["\\]/.test(text) ? text.replaceAll(/["\\]/g, "") : text.replace(/\s*[#;].*$/, "")
    if (key === "include.path" || key === "includeif.path") await this.include(value, file)
    else if (key === "core.hookspath") this.hooksPath = value
    else if (key === "core.worktree") this.checkWorkTree(value, file)
    else if (programs.test(key) && !harmlessValues.test(value)) this.program ??= key
    else if (/^(?:remote|extensions|submodule)\./.test(key) && programs.test(key) && value !== "false")
      this.program ??= key
  }

  private async include(path: string, from: string): Promise<void> {
    if (path.startsWith("~") || path.includes("%")) this.program ??= "include.path"
    else await this.read(resolve(dirname(from), path))
  }

  private checkWorkTree(value: string, file: string): void {
    if (resolve(dirname(file), value) !== this.directory) this.program ??= "core.worktree"
  }
}
