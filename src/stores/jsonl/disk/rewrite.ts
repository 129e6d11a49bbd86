import { redacted } from "../../../session/history/redact.ts"
import type { PlainMessage, PlainSession } from "../../plain/index.ts"
import { linesIn, summaryOf } from "../catalog/session-from-lines.ts"
import type { Core, TrackedSession } from "../core.ts"
import { decodeForeign } from "../foreign/foreign-message.ts"
import { entryID, groupMessages } from "../format/decode.ts"
import { type Encoded, encodeState, markWritten } from "../format/encode.ts"
import { encodeMessage } from "../format/entry.ts"
import { foreignContext, headerLine } from "../format/header.ts"
import { formatLines, type Line, parseLinesNow } from "../format/lines.ts"
import { chainOf } from "../format/summary.ts"
import { freeID, isOurs } from "../journal/append-state.ts"

/** A message of the session and its lines in the file. */
interface Owned {
  message: PlainMessage
  at: [chain: number, position: number]
  lines: Line[]
}

/**
 * Encodes both files of a session again after a redaction, and updates its append state. Messages of other programs
 * become lines of this driver. Unknown lines stay, except when the whole session was redacted, because they may repeat
 * redacted content.
 */
export function rewriteFiles(
  core: Core,
  tracked: TrackedSession,
  { session, whole }: { session: PlainSession; whole: boolean },
): Encoded {
  const appendState = tracked.appendState!
  const file = core.mainFile(tracked)
  const lines = parseLinesNow(core.files.read(file, 0, tracked.main), { file }).lines
  const chain = chainOf(session)
  const owners = new Map<Line, Owned>()
  for (const owned of ownedLines(lines, { session, tracked })) {
    for (const line of owned.lines) owners.set(line, owned)
  }
  const store = core.state.storeID
  const { parentSession } = lines[0]?.value ?? {}
  const header = headerLine(session.info, {
    folder: tracked.folder,
    store,
    ...(typeof parentSession === "string" ? { parentSession } : {}),
  })
  const out: object[] = [header]
  const renamed = new Map<string, string | null>()
  const ids = new Set<string>()
  let leaf: string | null = null
  const follow = (line: Line): string | null => {
    const { parentId } = line.value
    if (parentId === undefined) return leaf
    if (typeof parentId !== "string") return null
    return renamed.has(parentId) ? renamed.get(parentId)! : parentId
  }
  for (const line of lines) {
    if (line.value.type === "session") continue
    const id = entryID(line)
    const owned = owners.get(line)
    if (owned) {
      if (owned.lines[0] !== line) continue
      const encoded = encodeMessage(owned.message, {
        at: owned.at,
        parentId: follow(line),
        segment: chain[owned.at[0]]!.segment,
        sessionID: session.info.id,
        freeID: (wanted) => freeID(ids, wanted),
      })
      out.push(...encoded.lines)
      for (const old of owned.lines) renamed.set(entryID(old) ?? "", encoded.leaf)
      if (id !== undefined && owned.lines.length > 1) renamed.set(id, encoded.lines[0]!.id)
      leaf = encoded.leaf
    } else if (whole && !isOurs(line)) {
      if (id !== undefined) renamed.set(id, follow(line))
    } else {
      const title = whole && line.value.type === "session_info" ? { name: redacted } : {}
      out.push({ ...line.value, ...title, parentId: follow(line) })
      if (id !== undefined) ids.add(id)
      leaf = id ?? leaf
    }
  }
  const now = (id: string) => (renamed.has(id) ? renamed.get(id)! : id)
  appendState.leaves = appendState.leaves.map((id) => now(id) ?? id)
  appendState.leaf = leaf
  appendState.ids = ids
  appendState.adopted = []
  appendState.foreignEnd = 0
  appendState.unended = false
  markWritten(session, appendState)
  return { main: formatLines(out), state: encodeState(session, appendState, { store }) }
}

function ownedLines(
  lines: Line[],
  { session, tracked }: { session: PlainSession; tracked: TrackedSession },
): Owned[] {
  const { adopted, foreignEnd } = tracked.appendState!
  const chain = chainOf(session)
  const owned: Owned[] = []
  const add = (at: [number, number], own: Line[]) => {
    const message = chain[at[0]]?.messages[at[1]]
    if (message) owned.push({ message, at, lines: own })
  }
  for (const { extra, first, further } of groupMessages(lines.filter((line) => line.from >= foreignEnd))) {
    add(extra.at, [first, ...further])
  }
  const context = foreignContext(lines[0]?.value, tracked.folder)
  for (const { at, ranges } of adopted) {
    const before = chain[at[0]]!.messages.slice(0, at[1]).map(({ body }) => summaryOf(body))
    const found = decodeForeign(linesIn(lines, ranges), { ...context, before })
    for (const [index, message] of found.entries()) add([at[0], at[1] + index], message.lines)
  }
  return owned
}
