import type { FileDiff, HistoryItem, Session } from "../../protocol/index.ts"
import type { Op } from "../../stores/commit.ts"
import { countLines } from "../../workspace/line-diff.ts"
import type { Run } from "./run.ts"

/** Operations that store the turn's file changes: a note on its prompt, and the session's summary. */
export async function summaryOps(run: Run): Promise<Op[]> {
  const { sessionID, promptID } = run
  const span = promptID === undefined ? undefined : snapshotSpan(turnItems(run.memo.items, promptID))
  if (promptID === undefined || span === undefined) return []
  const diffs = await run.project.snapshots.diff(span.before, span.after, span.files)
  if (diffs.length === 0) return []
  const summary = summaryOf(mergeDiffs(run.session.summary?.diffs ?? [], diffs))
  run.session = { ...run.session, summary }
  return [
    { op: "note.put", sessionID, messageID: promptID, key: "summary", value: { diffs } },
    { op: "session.patch", sessionID, set: { summary } },
  ]
}

export function summaryOf(diffs: FileDiff[]): NonNullable<Session["summary"]> {
  const sum = (field: "additions" | "deletions") => diffs.reduce((total, diff) => total + diff[field], 0)
  return { additions: sum("additions"), deletions: sum("deletions"), files: diffs.length, diffs }
}

/**
 * Joins two lists of changes: each file's diff runs from its content before the earlier list to that after the later.
 */
export function mergeDiffs(earlier: readonly FileDiff[], later: readonly FileDiff[]): FileDiff[] {
  const merged = new Map(earlier.map((diff) => [diff.file, diff]))
  for (const diff of later) {
    const known = merged.get(diff.file)
    if (!known) {
      merged.set(diff.file, diff)
      continue
    }
    if (known.before === diff.after) merged.delete(diff.file)
    else {
      const { before } = known
      merged.set(diff.file, { file: diff.file, before, after: diff.after, ...countLines(before, diff.after) })
    }
  }
  return [...merged.values()]
}

function turnItems(items: readonly HistoryItem[], promptID: string): readonly HistoryItem[] {
  const start = items.findLastIndex(({ message }) => message.id === promptID)
  return start < 0 ? [] : items.slice(start)
}

/** The snapshots before the first and after the last change, with the files changed in between. */
function snapshotSpan(
  items: readonly HistoryItem[],
): { before: string; after: string; files: string[] } | undefined {
  let before: string | undefined
  let after: string | undefined
  const files = new Set<string>()
  for (const { parts } of items) {
    for (const [index, part] of parts.entries()) {
      if (part.type !== "patch") continue
      before ??= part.hash
      for (const file of part.files) files.add(file)
      const next = parts[index + 1]
      if (next?.type === "snapshot") after = next.snapshot
    }
  }
  return before === undefined || after === undefined ? undefined : { before, after, files: [...files] }
}
