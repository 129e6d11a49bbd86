import { createID } from "../../../protocol/index.ts"
import { type Applied, applyChange, type Change, openMessage, type PlainSession } from "../../plain/index.ts"
import { addMessage } from "../../plain/operations/message-ops.ts"
import { moveHistory } from "../../plain/operations/move.ts"
import { addSession } from "../../plain/operations/session-ops.ts"
import { install, readSession } from "../catalog/loader.ts"
import { type Core, damaged, type Entry } from "../core.ts"
import { unfinishedText } from "../disk/torn-lines.ts"
import { entryID } from "../format/decode.ts"
import { emptyBook } from "../format/encode.ts"
import { checkHeader } from "../format/header.ts"
import { type ParsedLines, parseLines } from "../format/lines.ts"
import type { BatchDraft } from "../journal/batch-draft.ts"
import { type AdoptionPlan, planAdoption } from "./adoption-plan.ts"
import { foreignFields } from "./foreign-session.ts"

/** Another program may be at work on a call that long; after that it is taken for dead. */
const patienceMs = 10 * 60 * 1000

interface SettleOptions {
  draft: BatchDraft
  /** True if the session is going to be written: then nothing can wait for another program any longer. */
  now: boolean
}

/** Takes in what other programs appended to a session's main file. To be called under the lock, if anything is written. */
export async function settleSession(core: Core, replicaPart: Entry, options: SettleOptions): Promise<void> {
  const file = core.mainFile(replicaPart)
  const size = core.files.stat(file)?.size
  if (size === undefined) throw damaged(file, "is gone")
  if (size === replicaPart.main) return
  if (size < replicaPart.main) throw damaged(file, "is shorter than it was: some of it was lost")
  const parsed = await parseWhole(core, file)
  if (parsed.end === replicaPart.main || !core.state.sessions.has(replicaPart.id)) return
  const loaded = await readSession(core, replicaPart)
  if (openMessage(loaded.session)) {
    // Ours comes next, on what was there before: the other program's lines are a branch that nobody follows.
    if (options.now) passOver(replicaPart, parsed, options.draft)
    return
  }
  install(core, replicaPart, loaded)
  const plan = planAdoption(parsed.lines, {
    loaded,
    folder: replicaPart.folder,
    from: replicaPart.main,
    end: parsed.end,
    patient: !options.now && isYoung(core, file),
  })
  if (plan.end === replicaPart.main) return
  adoptInto(core, replicaPart, { plan, parsed, draft: options.draft })
}

/** A file that we never saw becomes a session. */
export async function adoptFile(
  core: Core,
  place: { id: string; folder: string; name: string },
  options: { draft: BatchDraft; listed: Record<string, unknown> | undefined },
): Promise<void> {
  const file = core.mainFile(place)
  const parsed = await parseWhole(core, file)
  checkHeader(parsed.lines[0]?.value, file)
  const known = { folder: place.folder, from: 0, end: parsed.end, patient: isYoung(core, file) }
  const plan = planAdoption(parsed.lines, known)
  const replicaPart = core.addEntry(place)
  options.draft.onUndo(() => core.entries.delete(place.id))
  const fields = foreignFields(parsed.lines, { ...place, listed: options.listed, plan })
  const applied = applyChange(core.state, (change) => {
    const session = addSession(change, {
      info: fields,
      segment: createID("segment", core.clock.now()),
      importing: false,
      nowMs: core.clock.now(),
    })
    change.moveHistory(session, 0)
    addForeign(change, session, plan)
  })
  const session = core.state.sessions.get(place.id)!
  replicaPart.appendState = { ...emptyBook(session, place.id), foreignEnd: plan.end }
  finish(core, replicaPart, { applied, plan, parsed, draft: options.draft })
}

function passOver(replicaPart: Entry, parsed: ParsedLines, draft: BatchDraft): void {
  draft.account(replicaPart)
  replicaPart.main = parsed.end
  if (!replicaPart.appendState) return
  replicaPart.appendState.unended = parsed.unended
  for (const id of lineIDs(parsed)) replicaPart.appendState.ids.add(id)
}

function adoptInto(
  core: Core,
  replicaPart: Entry,
  { plan, parsed, draft }: { plan: AdoptionPlan; parsed: ParsedLines; draft: BatchDraft },
): void {
  const session = core.state.sessions.get(replicaPart.id)!
  const moves = plan.keep < session.messages.length
  const title = plan.title !== undefined && plan.title !== session.info.title ? plan.title : undefined
  if (!moves && plan.messages.length === 0 && title === undefined) {
    draft.account(replicaPart)
    replicaPart.main = plan.end
    keepBook(replicaPart, plan, parsed)
    return
  }
  const applied = applyChange(core.state, (change) => {
    // Whoever goes on at the end has taken the revert back.
    if (session.info.revert) change.changeInfo(session, { revert: undefined })
    if (moves) {
      moveHistory(change, {
        op: "history.move",
        sessionID: replicaPart.id,
        segment: createID("segment", core.clock.now()),
        messageID: session.messages[plan.keep]!.body.id,
      })
    }
    addForeign(change, session, plan)
    if (title !== undefined) change.changeInfo(session, { title })
  })
  finish(core, replicaPart, { applied, plan, parsed, draft })
}

function addForeign(change: Change, session: PlainSession, plan: AdoptionPlan): void {
  for (const { message, parts } of plan.messages)
    addMessage(change, session, { message, parts, sealed: true })
  const times = plan.messages.map(({ message }) => Math.floor(message.time.created))
  const updated = Math.max(session.info.time.updated, ...times)
  if (plan.messages.length > 0) change.changeInfo(session, { time: { ...session.info.time, updated } })
}

function finish(
  core: Core,
  replicaPart: Entry,
  made: { applied: Applied; plan: AdoptionPlan; parsed: ParsedLines; draft: BatchDraft },
): void {
  const { plan, applied } = made
  const session = core.state.sessions.get(replicaPart.id)!
  const adopted = session.messages.slice(plan.keep)
  const serial = adopted.flatMap((message) => message.parts)[0]?.serial ?? 0
  const at: [number, number] = [session.left.length, plan.keep]
  const appendState = replicaPart.appendState!
  appendState.leaves.length = plan.keep
  for (const { message, lines } of plan.messages)
    appendState.leaves.push(entryID(lines.at(-1)!) ?? message.id)
  made.draft.adopt(applied, replicaPart, adopted.length > 0 ? { at, ranges: plan.ranges, serial } : undefined)
  appendState.written = session.messages.length
  replicaPart.main = plan.end
  keepBook(replicaPart, plan, made.parsed)
}

function keepBook(replicaPart: Entry, plan: AdoptionPlan, parsed: ParsedLines): void {
  const appendState = replicaPart.appendState!
  if (plan.messages.length > 0) appendState.leaf = plan.leaf
  appendState.unended = parsed.unended && plan.end === parsed.end
  for (const id of lineIDs(parsed)) appendState.ids.add(id)
}

function lineIDs({ lines }: ParsedLines): string[] {
  return lines.flatMap((line) => (line.value.type === "session" ? [] : (entryID(line) ?? [])))
}

/** The whole file but for a last line that somebody has not finished: that is left to whoever writes it. */
async function parseWhole(core: Core, file: string): Promise<ParsedLines> {
  const bytes = await core.files.readLater(file)
  const parsed = await parseLines(bytes, { file })
  const torn = bytes.length - parsed.end
  if (torn > 0) core.warnOnce(file, unfinishedText(file, torn))
  return parsed
}

function isYoung(core: Core, file: string): boolean {
  return Date.now() - (core.files.stat(file)?.mtimeMs ?? 0) < patienceMs
}
