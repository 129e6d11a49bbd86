import { createHash } from "node:crypto"
import type { Core, Entry } from "../core.ts"
import { agentOf, mainName } from "../format/header.ts"
import { isObject } from "../format/lines.ts"
import type { Summary } from "../format/summary.ts"

export const indexName = "sessions.json"
const sliceMs = 8

/** A session in the index: what other programs read, and what spares us reading the session's files. */
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
  /** Tells an entry that somebody edited. */
  sum: string
}

/** An index as it was found: entries that may be trusted, and what others say of the rest. */
export interface FoundIndex {
  known: Map<string, IndexExtra>
  others: Map<string, Record<string, unknown>>
}

/** Writes the index of a folder; it is derived from the sessions' files. */
export async function writeIndex(core: Core, folder: string, options: { sync: boolean }): Promise<void> {
  const sessions: string[] = []
  const importing: string[] = []
  let began = performance.now()
  for (const replicaPart of [...core.entries.values()]) {
    if (performance.now() - began > sliceMs) {
      await new Promise((resolve) => setImmediate(resolve))
      began = performance.now()
    }
    if (replicaPart.folder !== folder) continue
    const session = core.state.sessions.get(replicaPart.id)
    if (!session) continue
    replicaPart.indexLine ??= `${JSON.stringify(replicaPart.id)}:${JSON.stringify(indexEntry(core, replicaPart))}`
    if (session.importing) importing.push(replicaPart.indexLine)
    else sessions.push(replicaPart.indexLine)
  }
  const text = `{"sessions":{${byLine(sessions)}},"stemma":{"format":1,"importing":{${byLine(importing)}}}}\n`
  await core.files.replace(`${folder}/${indexName}`, Buffer.from(text), options)
}

/** One session a line: good to read, and to compare. */
function byLine(entries: string[]): string {
  return entries.length === 0 ? "" : `\n${entries.join(",\n")}\n`
}

function indexEntry(core: Core, replicaPart: Entry): IndexEntry {
  const { info, messages } = core.state.sessions.get(replicaPart.id)!
  const extra = {
    name: replicaPart.name,
    main: replicaPart.main,
    state: replicaPart.state,
    mainMs: core.files.stat(core.mainFile(replicaPart))?.mtimeMs ?? 0,
    stateMs: core.files.stat(core.stateFile(replicaPart))?.mtimeMs ?? 0,
    summary: core.summary(replicaPart),
  }
  return {
    id: replicaPart.id,
    agentId: info.agent ?? agentOf(replicaPart.folder),
    filePath: mainName(replicaPart.name),
    title: info.title,
    messageCount: messages.length,
    createdAt: info.time.created,
    lastAt: info.time.updated,
    tokenEstimate: replicaPart.tokens,
    // What could not be read must be looked at again by whoever opens the store next.
    ...(replicaPart.problem ? {} : { stemma: { ...extra, sum: sumOf(extra) } }),
  }
}

function sumOf(extra: Omit<IndexExtra, "sum">): string {
  return createHash("sha256").update(JSON.stringify(extra)).digest("hex").slice(0, 16)
}

/** Reads the index of a folder. A missing or damaged one knows nothing. */
export function readIndex(core: Core, folder: string): FoundIndex {
  const found: FoundIndex = { known: new Map(), others: new Map() }
  const file = `${folder}/${indexName}`
  const text = core.files.read(file).toString("utf8")
  if (text.trim() === "") return found
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    core.warn(`${file} is damaged; it is made again from the sessions' files.`)
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
