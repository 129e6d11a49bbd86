import { StemmaError } from "../../protocol/error/error.ts"
import { type Git, GitError } from "../git/git-command.ts"

/** How many blobs are held in memory at the same time. */
const blobsAtOnce = 32

/** Throws `invalid` for a text that is not a name that `take` returned. */
export function checkSnapshot(snapshot: string): string {
  if (/^[0-9a-f]{40}$/.test(snapshot)) return snapshot
  throw new StemmaError(
    "invalid",
    `"${snapshot.slice(0, 80)}" is not the name of a snapshot. Give a name that was returned before.`,
  )
}

/** Runs a function that reads snapshots. A missing snapshot becomes `not_found`. */
export async function readSnapshots<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    const gone = /bad object|not a tree object|not a valid object|unable to read|missing object/i.test(
      error.stderr,
    )
    throw gone
      ? new StemmaError(
          "not_found",
          "The snapshot no longer exists: it was too old and was removed. Files stay as they are.",
        )
      : new StemmaError("unavailable", `The snapshot cannot be read: ${error.message}`, { cause: error })
  }
}

export interface TreeEntry {
  mode: string
  object: string
}

/** The entries of a tree for these files. */
export async function treeEntries(
  git: Git,
  options: { tree: string; files: ReadonlySet<string>; signal?: AbortSignal },
): Promise<Map<string, TreeEntry>> {
  const output = await git.run({ args: ["ls-tree", "-r", "-z", options.tree], signal: options.signal })
  const entries = new Map<string, TreeEntry>()
  for (const line of output.toString("utf8").split("\0")) {
    const tab = line.indexOf("\t")
    const path = line.slice(tab + 1)
    if (tab < 0 || !options.files.has(path)) continue
    const [mode, , object] = line.slice(0, tab).split(" ")
    entries.set(path, { mode: mode!, object: object! })
  }
  return entries
}

/** Yields the content of each object once, reading a few at a time. */
export async function* readBlobs(
  git: Git,
  options: { objects: Iterable<string>; signal?: AbortSignal },
): AsyncGenerator<[object: string, content: Buffer]> {
  const objects = [...new Set(options.objects)]
  for (let at = 0; at < objects.length; at += blobsAtOnce) {
    const some = objects.slice(at, at + blobsAtOnce)
    const args = ["cat-file", "--batch"]
    const output = await git.run({ args, input: `${some.join("\n")}\n`, signal: options.signal })
    let offset = 0
    for (const object of some) {
      const end = output.indexOf("\n", offset)
      const [, type, size] = output.toString("latin1", offset, end).split(" ")
      if (type !== "blob")
        throw new StemmaError("not_found", "A part of the snapshot no longer exists. Files stay as they are.")
      offset = end + 1 + Number(size) + 1
      yield [object, output.subarray(end + 1, offset - 1)]
    }
  }
}
