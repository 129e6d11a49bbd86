import { createID } from "../../../protocol/index.ts"
import { type Applied, applyChange, type Change, openMessage, type PlainSession } from "../../plain/index.ts"
import { addMessage } from "../../plain/operations/message-ops.ts"
import { moveHistory } from "../../plain/operations/move.ts"
import { addSession } from "../../plain/operations/session-ops.ts"
import { putLoaded, readSession } from "../catalog/loader.ts"
import { type Core, damagedFile, type TrackedSession } from "../core.ts"
import { unfinishedText } from "../disk/torn-lines.ts"
import { entryID } from "../format/decode.ts"
import { emptyAppendState } from "../format/encode.ts"
import { checkHeader } from "../format/header.ts"
import { type ParsedLines, parseLines } from "../format/lines.ts"
import type { BatchDraft } from "../journal/batch-draft.ts"
import { type AdoptionPlan, planAdoption } from "./adoption-plan.ts"
import { foreignFields } from "./foreign-session.ts"

/** How long after its last write another program may still be running a tool call. */
const foreignCallMaxMs = 10 * 60 * 1000

interface AdoptOptions {
  draft: BatchDraft
  /** True if the session is about to be written. Then the adoption cannot wait for results of tool calls. */
  forWriting: boolean
}

/**
 * Adopts the lines that other programs appended to a session's main file. Must be called under the lock unless the
 * store is read-only.
 */
export async function adoptNewLines(
  core: Core,
  tracked: TrackedSession,
  options: AdoptOptions,
): Promise<void> {
  const file = core.mainFile(tracked)
  const size = core.files.stat(file)?.size
  if (size === undefined) throw damagedFile(file, "is gone")
  if (size === tracked.main) return
  if (size < tracked.main) throw damagedFile(file, "is shorter than before: some bytes were lost")
  const parsed = await parseCompleteLines(core, file)
  if (parsed.end === tracked.main || !core.state.sessions.has(tracked.id)) return
  const loaded = await readSession(core, tracked)
  if (openMessage(loaded.session)) {
    // The open message of this store continues the old history, so the other program's lines stay an unused branch.
    if (options.forWriting) skipNewLines(tracked, parsed, options.draft)
    return
  }
  putLoaded(core, tracked, loaded)
  const plan = planAdoption(parsed.lines, {
    loaded,
    folder: tracked.folder,
    from: tracked.main,
    end: parsed.end,
    waitsForResults: !options.forWriting && isRecentlyModified(core, file),
  })
  if (plan.end === tracked.main) return
  adoptInto(core, tracked, { plan, parsed, draft: options.draft })
}

/** Adds a main file that another program wrote as a new session. */
export async function adoptFile(
  core: Core,
  location: { id: string; folder: string; name: string },
  options: { draft: BatchDraft; listed: Record<string, unknown> | undefined },
): Promise<void> {
  const file = core.mainFile(location)
  const parsed = await parseCompleteLines(core, file)
  checkHeader(parsed.lines[0]?.value, file)
  const known = {
    folder: location.folder,
    from: 0,
    end: parsed.end,
    waitsForResults: isRecentlyModified(core, file),
  }
  const plan = planAdoption(parsed.lines, known)
  const tracked = core.track(location)
  options.draft.onUndo(() => core.tracked.delete(location.id))
  const fields = foreignFields(parsed.lines, { ...location, listed: options.listed, plan })
  const applied = applyChange(core.state, (change) => {
    const session = addSession(change, {
      info: fields,
      segment: createID("segment", core.clock.now()),
      importing: false,
      nowMs: core.clock.now(),
    })
    change.moveHistory(session, 0)
    addForeignMessages(change, session, plan)
  })
  const session = core.state.sessions.get(location.id)!
  tracked.appendState = { ...emptyAppendState(session, location.id), foreignEnd: plan.end }
  finishAdoption(core, tracked, { applied, plan, parsed, draft: options.draft })
}

function skipNewLines(tracked: TrackedSession, parsed: ParsedLines, draft: BatchDraft): void {
  draft.recordLengths(tracked)
  tracked.main = parsed.end
  if (!tracked.appendState) return
  tracked.appendState.unended = parsed.unended
  for (const id of lineIDs(parsed)) tracked.appendState.ids.add(id)
}

function adoptInto(
  core: Core,
  tracked: TrackedSession,
  { plan, parsed, draft }: { plan: AdoptionPlan; parsed: ParsedLines; draft: BatchDraft },
): void {
  const session = core.state.sessions.get(tracked.id)!
  const moves = plan.keep < session.messages.length
  const title = plan.title !== undefined && plan.title !== session.info.title ? plan.title : undefined
  if (!moves && plan.messages.length === 0 && title === undefined) {
    draft.recordLengths(tracked)
    tracked.main = plan.end
    updateAppendState(tracked, plan, parsed)
    return
  }
  const applied = applyChange(core.state, (change) => {
    // A program that continued after the reverted messages has undone the revert.
    if (session.info.revert) change.changeInfo(session, { revert: undefined })
    if (moves) {
      moveHistory(change, {
        op: "history.move",
        sessionID: tracked.id,
        segment: createID("segment", core.clock.now()),
        messageID: session.messages[plan.keep]!.body.id,
      })
    }
    addForeignMessages(change, session, plan)
    if (title !== undefined) change.changeInfo(session, { title })
  })
  finishAdoption(core, tracked, { applied, plan, parsed, draft })
}

function addForeignMessages(change: Change, session: PlainSession, plan: AdoptionPlan): void {
  for (const { message, parts } of plan.messages)
    addMessage(change, session, { message, parts, sealed: true })
  const times = plan.messages.map(({ message }) => Math.floor(message.time.created))
  const updated = Math.max(session.info.time.updated, ...times)
  if (plan.messages.length > 0) change.changeInfo(session, { time: { ...session.info.time, updated } })
}

function finishAdoption(
  core: Core,
  tracked: TrackedSession,
  made: { applied: Applied; plan: AdoptionPlan; parsed: ParsedLines; draft: BatchDraft },
): void {
  const { plan, applied } = made
  const session = core.state.sessions.get(tracked.id)!
  const adopted = session.messages.slice(plan.keep)
  const serial = adopted.flatMap((message) => message.parts)[0]?.serial ?? 0
  const at: [number, number] = [session.left.length, plan.keep]
  const appendState = tracked.appendState!
  appendState.leaves.length = plan.keep
  for (const { message, lines } of plan.messages)
    appendState.leaves.push(entryID(lines.at(-1)!) ?? message.id)
  made.draft.adopt(applied, tracked, adopted.length > 0 ? { at, ranges: plan.ranges, serial } : undefined)
  appendState.written = session.messages.length
  tracked.main = plan.end
  updateAppendState(tracked, plan, made.parsed)
}

function updateAppendState(tracked: TrackedSession, plan: AdoptionPlan, parsed: ParsedLines): void {
  const appendState = tracked.appendState!
  if (plan.messages.length > 0) appendState.leaf = plan.leaf
  appendState.unended = parsed.unended && plan.end === parsed.end
  for (const id of lineIDs(parsed)) appendState.ids.add(id)
}

function lineIDs({ lines }: ParsedLines): string[] {
  return lines.flatMap((line) => (line.value.type === "session" ? [] : (entryID(line) ?? [])))
}

/** Parses all complete lines of a file. Warns about an unfinished last line. */
async function parseCompleteLines(core: Core, file: string): Promise<ParsedLines> {
  const bytes = await core.files.readLater(file)
  const parsed = await parseLines(bytes, { file })
  const torn = bytes.length - parsed.end
  if (torn > 0) core.warnOnce(file, unfinishedText(file, torn))
  return parsed
}

function isRecentlyModified(core: Core, file: string): boolean {
  return Date.now() - (core.files.stat(file)?.mtimeMs ?? 0) < foreignCallMaxMs
}
