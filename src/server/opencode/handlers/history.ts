import { type HistoryItem, StemmaError } from "../../../protocol/index.ts"
import type { StoreReader } from "../../../run/index.ts"
import { prunedTimes } from "../../../session/index.ts"
import type { ServerContext } from "../../http/call.ts"
import { inlineUrls } from "../files/file-urls.ts"
import { toWireItem } from "../wire/to-wire-message.ts"
import type { WireItem } from "../wire/wire-message.ts"

const pageMax = 1000

/** Messages in the shape of the OpenCode client: with files that it can open, and with hidden tool output marked. */
export async function wireItems(
  { stemma, publicUrl }: ServerContext,
  sessionID: string,
  items: readonly HistoryItem[],
): Promise<WireItem[]> {
  const { reader } = stemma
  const [url, pruned] = await Promise.all([
    inlineUrls(items, { reader, publicUrl: publicUrl() }),
    prunedAfter(reader, sessionID, items),
  ])
  return items.map((item) => toWireItem(item, { url, prunedAt: (partID) => pruned.get(partID) }))
}

/**
 * When the output of these messages' tool calls was hidden. The prune marks come later in the history and are found by
 * an index.
 */
async function prunedAfter(
  reader: StoreReader,
  sessionID: string,
  items: readonly HistoryItem[],
): Promise<Map<string, number>> {
  const first = items.find(({ parts }) => parts.some((part) => part.type === "tool"))
  if (!first) return new Map()
  const marks: HistoryItem[] = []
  for (let from = first.position; ; ) {
    const page = await reader.history(sessionID, { having: "prune", from, take: "start", limit: pageMax })
    marks.push(...page.items)
    const last = page.items.at(-1)
    if (!page.more || !last) return prunedTimes(marks)
    from = last.position + 1
  }
}

/** The last messages, oldest first, and whether there are older ones. */
export async function lastMessages(
  reader: StoreReader,
  sessionID: string,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<{ items: HistoryItem[]; more: boolean }> {
  let to = before === undefined ? undefined : await positionOf(reader, sessionID, before)
  const pages: HistoryItem[][] = []
  for (let left = limit; ; ) {
    const page = await reader.history(sessionID, {
      take: "end",
      limit: Math.min(pageMax, left),
      ...(to !== undefined && { to }),
    })
    pages.unshift(page.items)
    left -= page.items.length
    to = page.items[0]?.position
    if (!page.more || left === 0 || to === undefined) return { items: pages.flat(), more: page.more }
  }
}

/** A missing session is `not_found`; an unknown cursor is `invalid`. */
async function positionOf(reader: StoreReader, sessionID: string, messageID: string): Promise<number> {
  await reader.session(sessionID)
  try {
    return (await findMessage(reader, sessionID, messageID)).position
  } catch (error) {
    if (!StemmaError.is(error, "not_found")) throw error
    throw new StemmaError(
      "invalid",
      `Session ${sessionID} has no message ${messageID}. Set \`before\` to the id of one of its messages.`,
    )
  }
}

export async function findMessage(
  reader: StoreReader,
  sessionID: string,
  messageID: string,
): Promise<HistoryItem> {
  const { items } = await reader.history(sessionID, { messageID })
  if (items[0]) return items[0]
  throw new StemmaError("not_found", `Session ${sessionID} has no message ${messageID}.`)
}
