import {
  type FileDiff,
  type HistoryItem,
  type Part,
  type Revert,
  type Session,
  StemmaError,
} from "../../protocol/index.ts"
import { defaultTitle, type RevertMark, revertPlan } from "../../session/index.ts"
import type { Op } from "../../stores/commit.ts"
import type { Store } from "../../stores/store.ts"
import { unifiedDiff } from "../../workspace/line-diff.ts"
import type { Snapshots } from "../../workspace/workspace.ts"
import { findMessage } from "../schedule/waiters.ts"
import type { Run } from "./run.ts"
import { mergeDiffs, summaryOf } from "./summary.ts"
import { isTitleFromRest } from "./title-source.ts"

const diffUnitsMax = 200_000

export interface Reverted {
  session: Session
  /** Files that were restored. */
  files: string[]
  /** Tells a person which files were not restored and why; undefined if all were restored. */
  notice?: string
}

/** Marks the session as reverted to before a message or a part, and restores the files that changed since then. */
export async function markRevert(run: Run, mark: RevertMark): Promise<Reverted> {
  await run.setup()
  const { store } = run.engine
  const { sessionID } = run
  const earlier = run.session.revert
  const items = await itemsFrom(store, sessionID, mark.messageID)
  // Throws if the mark names a part that the message does not have.
  revertPlan(items, mark, { newID: run.newID })
  const { snapshots } = run.project
  const now = await snapshots.take()
  const before = earlier?.snapshot ?? now
  const withSnapshot: Revert = { ...mark, ...(before !== undefined && { snapshot: before }) }
  // The mark is committed before any file changes: if the process dies in between, the revert can still be undone.
  if (!earlier) await run.writer.commit([{ op: "session.patch", sessionID, set: { revert: withSnapshot } }])
  // A second revert starts from the files as they were before the first one.
  const undone = earlier ? (await restoreFilesBeforeRevert(run, earlier)).files : []
  const restored = await restoreFiles(snapshots, filesToRestore(items, mark))
  const after = await snapshots.take()
  const isKnown = before !== undefined && after !== undefined
  const diffs = isKnown ? await snapshots.diff(before, after, restored.files) : []
  // The summary already has the changes of the first revert, so only what changes now is added to it.
  const changed = [...new Set([...undone, ...restored.files])]
  const added = now !== undefined && after !== undefined ? await snapshots.diff(now, after, changed) : []
  const summary = summaryOf(mergeDiffs(run.session.summary?.diffs ?? [], added))
  const revert: Revert = { ...withSnapshot, ...(diffs.length > 0 && { diff: diffText(diffs) }) }
  const { notice = snapshotNotice(run) } = restored
  await run.writer.commit([
    { op: "session.patch", sessionID, set: { revert, ...(added.length > 0 && { summary }) } },
  ])
  return {
    session: await store.session(sessionID),
    files: restored.files,
    ...(notice !== undefined && { notice }),
  }
}

/** Removes the revert mark and restores the files to what they were before the revert. */
export async function clearRevert(run: Run): Promise<Reverted> {
  await run.setup()
  const { store } = run.engine
  const { sessionID } = run
  const { revert } = run.session
  if (!revert) return { session: run.session, files: [] }
  const { snapshots } = run.project
  const before = await snapshots.take()
  const changed = before === undefined ? [] : await changedSinceRevert(run, revert, before)
  const restored = await restoreFilesBeforeRevert(run, revert)
  if (changed.length > 0) {
    const overwritten = `These files had changed since the revert and were overwritten: ${changed.join(", ")}.`
    restored.notice = [overwritten, `Snapshot ${before} has their earlier content.`, restored.notice]
      .filter(Boolean)
      .join(" ")
  }
  const after = await snapshots.take()
  const isKnown = before !== undefined && after !== undefined
  const diffs = isKnown ? await snapshots.diff(before, after, restored.files) : []
  const summary = summaryOf(mergeDiffs(run.session.summary?.diffs ?? [], diffs))
  await run.writer.commit([
    { op: "session.patch", sessionID, set: { revert: null, ...(diffs.length > 0 && { summary }) } },
  ])
  return { session: await store.session(sessionID), ...restored }
}

/** The files that the revert restored and that were edited after the revert. */
async function changedSinceRevert(run: Run, revert: Revert, now: string): Promise<string[]> {
  const { snapshots } = run.project
  const items = await itemsFrom(run.engine.store, run.sessionID, revert.messageID)
  const files = filesToRestore(items, revert)
  const edited: string[] = []
  for (const [snapshot, names] of Map.groupBy(files.keys(), (file) => files.get(file)!)) {
    const differing = new Set(await snapshots.changed(snapshot, now).catch((): string[] => []))
    edited.push(...names.filter((name) => differing.has(name)))
  }
  return edited
}

/** Operations that move the history to the revert mark, for the commit that takes the next prompt. */
export async function revertOps(run: Run): Promise<Op[]> {
  const { revert } = run.session
  if (!revert) return []
  const { store } = run.engine
  const { sessionID, session, newID } = run
  const page = await store.history(sessionID, { messageID: revert.messageID })
  const plan = revertPlan(page.items, revert, { newID })
  const move: Op = { op: "history.move", sessionID, segment: newID("segment"), ...plan }
  const marked = page.items[0]
  const { partID } = revert
  // The title came from a prompt that the revert removes.
  if (!marked || !(await isTitleFromRest(store, session, { from: marked, partID }))) return [move]
  const { parentID, time } = session
  const title = defaultTitle({ child: parentID !== undefined, nowMs: time.created })
  return [move, { op: "session.patch", sessionID, set: { title } }]
}

async function itemsFrom(store: Store, sessionID: string, messageID: string): Promise<HistoryItem[]> {
  const marked = await findMessage(store, sessionID, messageID)
  if (!marked) {
    throw new StemmaError(
      "not_found",
      `Message ${messageID} is not in session ${sessionID}. Read the session's history again and choose one of its messages.`,
    )
  }
  const items: HistoryItem[] = []
  for (let from = marked.position; ; ) {
    const page = await store.history(sessionID, { from, take: "start", limit: 1000 })
    items.push(...page.items)
    if (!page.more || page.items.length === 0) return items
    from = page.items.at(-1)!.position + 1
  }
}

/**
 * The files that messages after the mark changed, each with the snapshot that holds its content before the first
 * change.
 */
function filesToRestore(items: readonly HistoryItem[], mark: RevertMark): Map<string, string> {
  const files = new Map<string, string>()
  for (const { message, parts } of items) {
    const isMarked = message.id === mark.messageID && mark.partID !== undefined
    const from = isMarked ? parts.findIndex((part) => part.id === mark.partID) : 0
    for (const part of parts.slice(Math.max(0, from)) as Part[]) {
      if (part.type !== "patch") continue
      for (const file of part.files) if (!files.has(file)) files.set(file, part.hash)
    }
  }
  return files
}

async function restoreFiles(
  snapshots: Snapshots,
  wanted: ReadonlyMap<string, string>,
): Promise<{ files: string[]; notice?: string }> {
  if (wanted.size === 0) return { files: [] }
  if (snapshots.unavailable !== undefined) {
    return { files: [], notice: snapshots.unavailable }
  }
  const bySnapshot = Map.groupBy(wanted.keys(), (file) => wanted.get(file)!)
  const files: string[] = []
  const failed: string[] = []
  for (const [snapshot, names] of bySnapshot) {
    try {
      const result = await snapshots.restore(snapshot, names)
      files.push(...result.restored, ...result.removed)
      failed.push(...result.failed)
    } catch (error) {
      // A missing snapshot must not stop the revert of the conversation.
      if (!StemmaError.is(error)) throw error
      failed.push(...names)
    }
  }
  return {
    files,
    ...(failed.length > 0 && { notice: `These files could not be restored: ${failed.join(", ")}` }),
  }
}

/** Restores the files to what they were before the mark was set. */
async function restoreFilesBeforeRevert(
  run: Run,
  revert: Revert,
): Promise<{ files: string[]; notice?: string }> {
  const { snapshot } = revert
  if (snapshot === undefined) {
    const notice = snapshotNotice(run)
    return { files: [], ...(notice !== undefined && { notice }) }
  }
  const items = await itemsFrom(run.engine.store, run.sessionID, revert.messageID)
  const files = [...filesToRestore(items, revert).keys()]
  return restoreFiles(run.project.snapshots, new Map(files.map((file) => [file, snapshot])))
}

function snapshotNotice(run: Run): string | undefined {
  const { unavailable } = run.project.snapshots
  return unavailable
}

function diffText(diffs: readonly FileDiff[]): string {
  const text = diffs.map(({ file, before, after }) => unifiedDiff(before, after, { file })).join("")
  return text.length > diffUnitsMax ? `${text.slice(0, diffUnitsMax)}\n[cut]\n` : text
}
