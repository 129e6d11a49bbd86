import { basename, dirname } from "node:path"
import { SessionID, StemmaError } from "../../../protocol/index.ts"
import type { SessionFields } from "../../plain/index.ts"
import { type ForeignContext, isTime, shortHash } from "../foreign/foreign-message.ts"
import { isoTime } from "./entry.ts"
import { isObject } from "./lines.ts"

/** The directory name for sessions without an agent. */
const noAgent = "main"

const mainFormat = 3

const mainEnd = ".jsonl"
const stateEnd = ".state.jsonl"

/**
 * Returns `agents/{agentId}/sessions`. Characters of the agent's name that may be unsafe in a file name are escaped.
 */
export function folderOf(agent: string | undefined): string {
  const safe = (agent ?? noAgent).replace(/[^0-9A-Za-z_-]/g, (character) => {
    const code = character.codePointAt(0)!.toString(16)
    return `%${code}%`
  })
  return `agents/${safe.slice(0, 120)}/sessions`
}

export function agentOf(folder: string): string {
  return basename(dirname(folder)).replace(/%([0-9a-f]+)%/g, (_all, code: string) => {
    const point = Number.parseInt(code, 16)
    return point <= 0x10ffff ? String.fromCodePoint(point) : ""
  })
}

/** Returns the id of the session in a main file: the file's name, or an id made from it. Undefined for other files. */
export function sessionIDOf(fileName: string): string | undefined {
  if (!fileName.endsWith(mainEnd) || fileName.endsWith(stateEnd)) return undefined
  const name = fileName.slice(0, -mainEnd.length)
  if (SessionID.safeParse(name).success) return name
  return SessionID.safeParse(`ses-${name}`).success ? `ses-${name}` : `ses-${shortHash(name)}`
}

export function isMainFile(file: string): boolean {
  return file.startsWith("agents/") && sessionIDOf(basename(file)) !== undefined
}

export function mainName(name: string): string {
  return name + mainEnd
}

/** Returns the main file that belongs to a state file; undefined for other files. */
export function mainOf(fileName: string): string | undefined {
  return fileName.endsWith(stateEnd) ? fileName.slice(0, -stateEnd.length) + mainEnd : undefined
}

export function stateName(name: string): string {
  return name + stateEnd
}

/** Returns the first line of a session's main file. */
export function headerLine(
  info: SessionFields,
  file: { folder: string; store: string; parentSession?: string },
): object {
  const {
    id,
    directory,
    title: _title,
    cost: _cost,
    tokens: _tokens,
    revert: _revert,
    summary: _summary,
    // A person who gets the file must not get the secret of the share.
    share: _share,
    ...rest
  } = info
  return {
    type: "session",
    version: mainFormat,
    id,
    timestamp: isoTime(info.time.created),
    cwd: directory,
    agentId: info.agent ?? agentOf(file.folder),
    createdAt: info.time.created,
    ...(file.parentSession === undefined ? {} : { parentSession: file.parentSession }),
    stemma: { store: file.store, session: rest },
  }
}

/** True for the first line of a session file: a header or, in a file without a header, a message. */
export function beginsSession(first: Record<string, unknown> | undefined): boolean {
  return first?.type === "session" || (first?.type === "message" && isObject(first.message))
}

/** Fails with `unsupported` if the file has a newer format. */
export function checkHeader(header: unknown, file: string): void {
  if (!isObject(header) || header.type !== "session") return
  const { version } = header
  if (typeof version !== "number" || version <= mainFormat) return
  throw new StemmaError(
    "unsupported",
    `${file} has format ${version}, but this version of Stemma reads formats up to ${mainFormat}. Update Stemma.`,
    { details: { file, format: version } },
  )
}

/** Returns the context for foreign lines from the header of their file. A file may have no header. */
export function foreignContext(header: unknown, folder: string): Omit<ForeignContext, "before"> {
  const fields = isObject(header) && header.type === "session" ? header : {}
  const { agentId, cwd } = fields
  return {
    agent: typeof agentId === "string" && agentId !== "" ? agentId : agentOf(folder),
    directory: typeof cwd === "string" && cwd !== "" ? cwd : ".",
    timeMs: headerTime(fields) ?? 0,
  }
}

export function headerTime(header: Record<string, unknown>): number | undefined {
  if (isTime(header.createdAt)) return Math.floor(header.createdAt)
  if (isTime(header.timestamp)) return Math.floor(header.timestamp)
  const parsed = typeof header.timestamp === "string" ? Date.parse(header.timestamp) : Number.NaN
  return isTime(parsed) ? parsed : undefined
}
