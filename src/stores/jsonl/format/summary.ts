import { blobRefs } from "../../../session/history/blob-refs.ts"
import { estimateMessageTokens } from "../../../session/usage/tokens.ts"
import {
  grownBody,
  messageBlobs,
  type PlainMessage,
  type PlainSession,
  reachedLists,
  type SessionFields,
} from "../../plain/index.ts"

/** The facts about a session that lists, cursors and removals need without reading its files. */
export interface Summary {
  info: SessionFields
  version: number
  newest: number
  seq: number
  serial: number
  begun: number
  importing: boolean
  epoch: number
  base: number
  /**
   * The segments of the history, the present segment last, and how many messages of the previous segment each one kept.
   */
  chain: { segment: string; keep: number; count: number }[]
  /** The id of the oldest session among the forks that share messages. */
  family: string
  /** The blobs that messages and inbox items refer to. */
  blobs: string[]
  /** An estimate of the tokens that a model would be shown. */
  tokens: number
  /** Whether the session has permission requests. Absent in an index of an earlier version of Stemma. */
  questions?: Questions
}

/** The session has no permission requests, only answered requests, or open requests. */
export type Questions = "none" | "answered" | "open"

export function summarize(
  session: PlainSession,
  known: { family: string; tokens: number; blobs: Iterable<string>; questions: Questions | undefined },
): Summary {
  const { info, version, newest, seq, serial, begun, importing, epoch, base } = session
  return {
    info,
    version,
    newest,
    seq,
    serial,
    begun,
    importing,
    epoch,
    base,
    chain: chainOf(session).map(({ segment, keep, messages }) => ({ segment, keep, count: messages.length })),
    family: known.family,
    blobs: [...known.blobs],
    tokens: known.tokens,
    ...(known.questions !== undefined && { questions: known.questions }),
  }
}

/**
 * Returns a session with the fields of its summary. Messages, notes and other content that only the files hold are
 * missing.
 */
export function stubOf(summary: Summary): PlainSession {
  const { chain } = summary
  const { segment, count } = chain.at(-1)!
  return {
    info: summary.info,
    version: summary.version,
    newest: summary.newest,
    seq: summary.seq,
    serial: summary.serial,
    begun: summary.begun,
    importing: summary.importing,
    segment,
    epoch: summary.epoch,
    messages: new Array<PlainMessage>(count),
    positions: new Map(),
    base: summary.base,
    notes: [],
    left: chain.slice(0, -1).map((link, index) => ({
      segment: link.segment,
      keep: chain[index + 1]!.keep,
      messages: new Array<PlainMessage>(link.count),
      notes: [],
    })),
    moves: [],
    todos: [],
    todosVersion: 0,
    permissions: [],
    inbox: [],
    inboxVersion: 0,
    taken: new Map(),
    fence: 0,
    lease: undefined,
  }
}

/** Returns the segments of a session in the order of its history. */
export function chainOf(
  session: PlainSession,
): { segment: string; keep: number; messages: PlainMessage[] }[] {
  const links = [...session.left, { segment: session.segment, messages: session.messages }]
  return links.map(({ segment, messages }, index) => ({
    segment,
    keep: index === 0 ? 0 : session.left[index - 1]!.keep,
    messages,
  }))
}

/** Returns all blobs that a loaded session refers to. */
export function sessionBlobs(session: PlainSession): Set<string> {
  const blobs = messageBlobs(reachedLists(session).flat())
  for (const item of session.inbox) {
    if (item.type !== "prompt") continue
    for (const hash of item.parts.flatMap(blobRefs)) blobs.add(hash)
  }
  return blobs
}

/** Returns whether a loaded session has permission requests. */
export function questionsOf({ permissions }: PlainSession): Questions {
  if (permissions.length === 0) return "none"
  return permissions.some(({ request }) => request.reply === undefined) ? "open" : "answered"
}

/**
 * Estimates the tokens that a model would be shown: the messages from the last compaction on, and the messages that it
 * kept.
 */
export function estimateSession(session: PlainSession): number {
  const { messages } = session
  let start = messages.length - 1
  while (start > 0 && !messages[start]!.parts.some((part) => part.body.type === "compaction")) start--
  const compaction = messages[start]?.parts
    .map((part) => part.body)
    .find((body) => body.type === "compaction")
  const kept = compaction?.firstKeptEntryId && session.positions.get(compaction.firstKeptEntryId)
  let tokens = 0
  for (
    let position = typeof kept === "number" ? kept : Math.max(start, 0);
    position < messages.length;
    position++
  ) {
    const message = messages[position]!
    if (message.sealed) tokens += messageTokens(message)
  }
  return tokens
}

export function messageTokens(message: PlainMessage): number {
  return estimateMessageTokens({ message: message.body, parts: message.parts.map(grownBody) })
}
