import { join } from "node:path"
import type { Project } from "../../../../run/index.ts"
import { isShowable, mayRead, nameOf } from "../../../../tools/search/found-files.ts"
import { gitLocation } from "../../../../workspace/git/git-location.ts"
import { type GitHead, readDefaultBranch, readHead } from "../../../../workspace/git/git-refs.ts"
import { unifiedDiff } from "../../../../workspace/line-diff.ts"
import type { CommitOf, FileDiffOf } from "../../../../workspace/workspace.ts"
import { readRules } from "../../files/read-rules.ts"
import type { WireVcs, WireVcsDiff } from "../../wire/project/wire-project.ts"
import { diffStatus, patchUnitsMax } from "../../wire/to-wire-session.ts"

const contextLinesMax = 10_000

/** The branch of a project's repository, and the branch that others start from. Reads files and runs no program. */
export async function vcsOf(project: Project): Promise<WireVcs> {
  const location = await gitLocation(project.workspace.root)
  if (!location) return {}
  const { branch } = await readHead(location)
  const main = (await readDefaultBranch(location))?.branch
  return {
    ...(branch !== undefined && { branch }),
    ...(main !== undefined && { default_branch: main }),
  }
}

/**
 * The files that differ from the last commit, or from the commit at which the branch left the default branch. Files that
 * the agent may not read without asking are left out, and secrets are masked.
 */
export async function vcsDiff(
  project: Project,
  { mode, context = 3 }: { mode: "git" | "branch"; context?: number | undefined },
): Promise<WireVcsDiff[]> {
  const { workspace } = project
  const base = await baseCommit(workspace.root, mode)
  const diffs = (base && (await project.filesSince(base))) ?? []
  const [{ mask }, decide] = await Promise.all([project.setup(), readRules(project)])
  const shown: WireVcsDiff[] = []
  for (const diff of diffs) {
    const path = join(workspace.root, diff.file)
    if (!mayRead(nameOf(path, { workspace }), { decide }) || !(await isShowable(path, { workspace })))
      continue
    shown.push(toWireVcsDiff(diff, { mask, contextLines: Math.min(context, contextLinesMax) }))
  }
  return shown
}

async function baseCommit(root: string, mode: "git" | "branch"): Promise<CommitOf | undefined> {
  const location = await gitLocation(root)
  if (!location) return undefined
  const { commit }: GitHead = await readHead(location)
  if (commit === undefined) return undefined
  const objects = join(location.commonDirectory, "objects")
  const fork = mode === "branch" ? (await readDefaultBranch(location))?.commit : undefined
  return { commit, objects, ...(fork !== undefined && { fork }) }
}

function toWireVcsDiff(
  diff: FileDiffOf,
  { mask, contextLines }: { mask: (text: string) => string; contextLines: number },
): WireVcsDiff {
  const { file, additions, deletions } = diff
  const [before, after] = [mask(diff.before), mask(diff.after)]
  const hasPatch = before !== after && before.length + after.length <= patchUnitsMax
  return {
    file,
    additions,
    deletions,
    status: diffStatus(diff),
    ...(hasPatch && { patch: unifiedDiff(before, after, { file, contextLines }) }),
  }
}
