import { createHash } from "node:crypto"
import { parseJson } from "../../../protocol/index.ts"
import type { Core, TrackedSession } from "../core.ts"
import { agentOf, mainName } from "../format/header.ts"
import { isObject, lineBounds } from "../format/lines.ts"
import type { Summary } from "../format/summary.ts"

export const indexName = "sessions.json"
const sliceMs = 8

/**
 * A session in the index. The first fields are for other programs; `stemma` lets this driver open the store without
 * reading the session's files.
 */
interface IndexEntry {
  id: string
  agentId: string
  filePath: string
  title: string
  messageCount: number
  createdAt: number
  lastAt: number
  tokenEstimate: number
  stemma?: IndexExtra
}

export interface IndexExtra {
  name: string
  main: number
  state: number
  mainMs: number
  stateMs: number
  summary: Summary
  /** A checksum, so that entries edited by other programs are recognised. */
  sum: string
}

/** The content of an index file: entries with a valid checksum, and all entries as other programs see them. */
export interface FoundIndex {
  known: Map<string, IndexExtra>
  others: Map<string, Record<string, unknown>>
}

/** Writes the index file of a directory from the tracked sessions. */
export async function writeIndex(core: Core, folder: string, options: { sync: boolean }): Promise<void> {
  const sessions: string[] = []
  const importing: string[] = []
  let began = performance.now()
  for (const tracked of [...core.tracked.values()]) {
    if (performance.now() - began > sliceMs) {
      await new Promise((resolve) => setImmediate(resolve))
      began = performance.now()
    }
    if (tracked.folder !== folder) continue
    const session = core.state.sessions.get(tracked.id)
    if (!session) continue
    tracked.indexLine ??= `${JSON.stringify(tracked.id)}:${JSON.stringify(indexEntry(core, tracked))}`
    if (session.importing) importing.push(tracked.indexLine)
    else sessions.push(tracked.indexLine)
  }
  const text = `{"sessions":{${byLine(sessions)}},"stemma":{"format":1,"importing":{${byLine(importing)}}}}\n`
  await core.files.replace(`${folder}/${indexName}`, Buffer.from(text), options)
}

/** Writes one session per line, so that the file is easy to read and to compare. */
function byLine(entries: string[]): string {
  return entries.length === 0 ? "" : `\n${entries.join(",\n")}\n`
}

function indexEntry(core: Core, tracked: TrackedSession): IndexEntry {
  const { info, messages } = core.state.sessions.get(tracked.id)!
  const extra = {
    name: tracked.name,
    main: tracked.main,
    state: tracked.state,
    mainMs: core.files.stat(core.mainFile(tracked))?.mtimeMs ?? 0,
    stateMs: core.files.stat(core.stateFile(tracked))?.mtimeMs ?? 0,
    summary: core.summary(tracked),
  }
  return {
    id: tracked.id,
    agentId: info.agent ?? agentOf(tracked.folder),
    filePath: mainName(tracked.name),
    title: info.title,
    messageCount: messages.length,
    createdAt: info.time.created,
    lastAt: info.time.updated,
    tokenEstimate: tracked.tokens,
    // Without `stemma`, the next process that opens the store reads the session's files again.
    ...(tracked.problem ? {} : { stemma: { ...extra, sum: sumOf(extra) } }),
  }
}

function sumOf(extra: Omit<IndexExtra, "sum">): string {
  return createHash("sha256").update(JSON.stringify(extra)).digest("hex").slice(0, 16)
}

/** Reads the index file of a directory. A missing or damaged file gives an empty index. */
export function readIndex(core: Core, folder: string): FoundIndex {
  const found: FoundIndex = { known: new Map(), others: new Map() }
  const file = `${folder}/${indexName}`
  const text = core.files.read(file).toString("utf8")
  if (text.trim() === "") return found
  let value: unknown
  try {
    value = parseJson(text, lineBounds)
  } catch {
    core.warn(`${file} is damaged; the store rebuilds it from the files of the sessions.`)
    return found
  }
  if (!isObject(value)) return found
  const extra = isObject(value.stemma) ? value.stemma : {}
  for (const list of [value.sessions, extra.importing]) {
    for (const [id, entry] of isObject(list) ? Object.entries(list) : []) {
      if (!isObject(entry)) continue
      const trusted = trustedExtra(entry.stemma)
      if (trusted) found.known.set(id, trusted)
      found.others.set(id, entry)
    }
  }
  return found
}

function trustedExtra(value: unknown): IndexExtra | undefined {
  if (!isObject(value) || !isObject(value.summary)) return undefined
  const { sum, ...extra } = value as unknown as IndexExtra
  return sumOf(extra) === sum ? (value as unknown as IndexExtra) : undefined
}
