import type { Git } from "../git/git-command.ts"
import type { FileDiffOf } from "../workspace.ts"
import { leftOutMode } from "./snapshot-files.ts"
import { readBlobs, type TreeEntry } from "./snapshot-objects.ts"

/** Longer contents are left out of a diff. */
const contentBytesMax = 1024 * 1024
/** With more files, git lists all differences and the result is filtered here. */
const namesMax = 100

export interface DiffOptions {
  from: string
  to: string
  files?: readonly string[]
  /** Leaves out submodules and files whose content is not stored. Git has the same mode for both. */
  withoutLinks?: boolean
  signal?: AbortSignal
}

export async function changedFiles(git: Git, options: DiffOptions): Promise<string[]> {
  const { from, to, signal } = options
  const output = await git.run({
    args: ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to],
    signal,
  })
  return output.toString("utf8").split("\0").slice(0, -1)
}

export async function diffFiles(git: Git, options: DiffOptions): Promise<FileDiffOf[]> {
  const { from, to, files, withoutLinks, signal } = options
  if (files?.length === 0) return []
  const args = [
    "diff-tree",
    "-r",
    "-z",
    "--raw",
    "--numstat",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    from,
    to,
  ]
  if (files && files.length <= namesMax) args.push("--", ...files.map((file) => `:(literal)${file}`))
  const wanted = files && new Set(files)
  const found = parseDiff((await git.run({ args, signal })).toString("utf8"))
  const differing = found.filter(
    ({ file, before, after }) =>
      (!wanted || wanted.has(file)) && !(withoutLinks && (isLeftOut(before) || isLeftOut(after))),
  )
  const contents = new Map<string, string>()
  const objects = differing.flatMap((one) => (one.binary ? [] : [one.before, one.after])).filter(hasContent)
  for await (const [object, content] of readBlobs(git, {
    objects: objects.map((entry) => entry.object),
    signal,
  })) {
    if (content.length <= contentBytesMax) contents.set(object, content.toString("utf8"))
  }
  const contentOf = (entry: TreeEntry) => contents.get(entry.object) ?? ""
  return differing.map(({ file, before, after, binary, additions, deletions }) => ({
    file,
    before: binary ? "" : contentOf(before),
    after: binary ? "" : contentOf(after),
    additions,
    deletions,
  }))
}

/** A work tree may differ from a commit in any number of files: a forgotten ignore rule is enough. */
const filesMax = 1000
const filesAtOnce = 50
const unitsMax = 16 * 1024 * 1024

/** Like `diffFiles`, for the first thousand files. Once there is much text, the other files have no contents. */
export async function manyDiffs(git: Git, options: DiffOptions): Promise<FileDiffOf[]> {
  const names = (await changedFiles(git, options)).slice(0, filesMax)
  const diffs: FileDiffOf[] = []
  let units = 0
  for (let at = 0; at < names.length; at += filesAtOnce) {
    for (const diff of await diffFiles(git, { ...options, files: names.slice(at, at + filesAtOnce) })) {
      units += diff.before.length + diff.after.length
      diffs.push(units > unitsMax ? { ...diff, before: "", after: "" } : diff)
    }
  }
  return diffs
}

interface Differing {
  file: string
  before: TreeEntry
  after: TreeEntry
  binary: boolean
  additions: number
  deletions: number
}

/**
 * Parses `diff-tree -z --raw --numstat`: for each file a header and its name, then for each file its counts and name.
 */
function parseDiff(output: string): Differing[] {
  const found = new Map<string, Differing>()
  const fields = output.split("\0").values()
  for (const field of fields) {
    if (field.startsWith(":")) {
      const [beforeMode, afterMode, before, after] = field.slice(1).split(" ")
      const file = fields.next().value ?? ""
      found.set(file, {
        file,
        before: { mode: beforeMode!, object: before! },
        after: { mode: afterMode!, object: after! },
        binary: true,
        additions: 0,
        deletions: 0,
      })
      continue
    }
    const [added = "", deleted = "", ...name] = field.split("\t")
    const one = found.get(name.join("\t"))
    if (one === undefined || isLeftOut(one.before) || isLeftOut(one.after)) continue
    one.binary = added === "-"
    one.additions = Number(added) || 0
    one.deletions = Number(deleted) || 0
  }
  return [...found.values()]
}

function isLeftOut(entry: TreeEntry): boolean {
  return entry.mode === leftOutMode
}

/** For an absent file, git's object name has only zeros. */
function hasContent(entry: TreeEntry): boolean {
  return !isLeftOut(entry) && !/^0+$/.test(entry.object)
}
