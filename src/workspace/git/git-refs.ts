import { constants } from "node:fs"
import { open, stat } from "node:fs/promises"
import { join } from "node:path"
import type { GitLocation } from "./git-location.ts"

/** The branch and the commit that a work tree is at. Both may be absent: a new repository, or no branch. */
export interface GitHead {
  branch?: string
  commit?: string
}

const headBytesMax = 4096
const packedBytesMax = 16 * 1024 * 1024
/** Names that git itself allows. They are parts of paths, so `..` must not be among them. */
const refName = /^refs\/(?!.*\.\.)[^\0- \x7f~^:?*[\\]+$/
const commitName = /^[0-9a-f]{40}$/
const headsPrefix = "refs/heads/"

/** Reads what HEAD names. Runs no program: a repository's config may name programs to run. */
export async function readHead(location: GitLocation): Promise<GitHead> {
  const ref = await readFileText(join(location.gitDirectory, "HEAD"), headBytesMax)
  if (ref === undefined) return {}
  if (commitName.test(ref)) return { commit: ref }
  const name = namedRef(ref)
  if (name === undefined) return {}
  const commit = await readRef(location, name)
  return {
    ...(name.startsWith(headsPrefix) && { branch: name.slice(headsPrefix.length) }),
    ...(commit !== undefined && { commit }),
  }
}

/** The branch that others start from: what `origin` names, else `main` or `master`. */
export async function readDefaultBranch(location: GitLocation): Promise<GitHead | undefined> {
  const origin = "refs/remotes/origin/"
  const text = await readFileText(join(location.commonDirectory, `${origin}HEAD`), headBytesMax)
  const name = text === undefined ? undefined : namedRef(text)
  const branches = name?.startsWith(origin) ? [name.slice(origin.length)] : ["main", "master"]
  for (const branch of branches) {
    for (const prefix of [headsPrefix, origin]) {
      const commit = await readRef(location, `${prefix}${branch}`)
      if (commit !== undefined) return { branch, commit }
    }
  }
  return undefined
}

function namedRef(text: string): string | undefined {
  const name = text.startsWith("ref: ") ? text.slice("ref: ".length).trim() : ""
  return refName.test(name) ? name : undefined
}

async function readRef(location: GitLocation, name: string): Promise<string | undefined> {
  if (!refName.test(name)) return undefined
  for (const directory of [location.gitDirectory, location.commonDirectory]) {
    const text = await readFileText(join(directory, name), headBytesMax)
    if (text !== undefined && commitName.test(text)) return text
  }
  const packed = await readFileText(join(location.commonDirectory, "packed-refs"), packedBytesMax)
  const line = packed?.split("\n").find((one) => one.slice(41) === name && one[40] === " ")
  const commit = line?.slice(0, 40)
  return commit !== undefined && commitName.test(commit) ? commit : undefined
}

/** The text without white space at its ends; undefined if the path is not a regular file. Never waits for a pipe. */
async function readFileText(path: string, bytesMax: number): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return undefined
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = await handle.stat()
    // A file of /proc says that it is empty, and may have no end.
    if (!stats.isFile() || stats.size === 0 || stats.size > bytesMax) return undefined
    return (await handle.readFile("utf8")).trim()
  } catch {
    return undefined
  }
}
