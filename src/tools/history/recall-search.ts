import { matchText, parseQuery, type SearchTerms, snippet, visibleLine } from "../../session/index.ts"
import { cutText } from "../output.ts"
import type { Recalled, RecalledFrom, SessionHistory, ToolResult } from "../tool.ts"
import type { RecallInput } from "./recall.ts"
import {
  legend,
  messagesMax,
  messageTitle,
  partSections,
  partText,
  recallCall,
  sessionName,
} from "./recall-text.ts"

type SearchInput = RecallInput & { query: string }
type Hit = RecalledFrom["hits"][number]

/** How many messages are found by default. */
const foundCount = 10
const snippetMax = 300
/** A match is read from a little before it. */
const leadUnits = 200

export async function searchHistory(input: SearchInput, history: SessionHistory): Promise<ToolResult> {
  const { query, position, before, session, count = foundCount } = input
  const range = { from: position, to: before, limit: count }
  const recalled = await history.search({ ...range, text: query, sessionID: session })
  const { blocks, shownCount } = showFound(recalled, input)
  return {
    title: `${shownCount} found for ${cutText(visibleLine(query), 60)}`,
    output: (shownCount > 0 ? blocks : nothingFound(input, recalled)).join("\n\n"),
    metadata: { found: shownCount },
  }
}

function showFound(
  { found, hasAll, unsearched }: Recalled,
  input: SearchInput,
): { blocks: string[]; shownCount: number } {
  const terms = parseQuery(input.query)
  const blocks = [hasAll ? legend : `No message has all these words; these have some of them. ${legend}`]
  let room = messagesMax
  let shownCount = 0
  for (const from of found) {
    const shown = showHits(from.hits, { terms, room })
    if (shown.length === 0) break
    const block = [
      `In ${sessionName(from.below, input.session)}:`,
      ...shown,
      ...moreLines(from, { shown, hasAll }),
    ]
    blocks.push(...block)
    room -= block.join("\n\n").length + 2
    shownCount += shown.length
  }
  if (shownCount > 0)
    blocks.push(`To read the first: ${recallCall(readFrom(found[0]!, { terms, session: input.session }))}`)
  if (unsearched > 0) blocks.push(unsearchedLine(unsearched))
  return { blocks, shownCount }
}

function nothingFound({ position, before, session }: SearchInput, { unsearched }: Recalled): string[] {
  const where = position === undefined && before === undefined ? "" : " in that range"
  return [
    `Nothing was found${where}. Try other words: fewer, another form, the beginning of one (conf*), another language.`,
    `Or read page by page: ${recallCall({ session })}`,
    ...(unsearched > 0 ? [unsearchedLine(unsearched)] : []),
  ]
}

function unsearchedLine(count: number): string {
  return `Not searched: ${count} or more child sessions. Name one as session to search it.`
}

function showHits(hits: readonly Hit[], { terms, room }: { terms: SearchTerms; room: number }): string[] {
  const shown: string[] = []
  let left = room
  for (const hit of hits) {
    const { part, label, offset, length, around } = findIn(hit, terms)
    const where = length > snippetMax ? `, offset ${offset} of ${length}` : ""
    const others = hit.partIDs.length > 1 ? `, and ${hit.partIDs.length - 1} more parts` : ""
    const text = `${messageTitle(hit.item)}, part ${part} (${label})${where}${others}\n> ${around}`
    if (text.length > left) break
    shown.push(text)
    left -= text.length + 2
  }
  return shown
}

/** The part and offset of the match in a message, so that the model can read on from there. */
function findIn({ item, partIDs }: Hit, terms: SearchTerms) {
  const part = item.parts.findIndex(({ id }) => id === partIDs[0])
  const sections = partSections(item.parts[part]!)
  const text = partText(sections)
  const marks = matchText(terms, text)?.marks ?? terms.flatMap((term) => matchText([term], text)?.marks ?? [])
  // The longest match says most.
  const mark = marks.toSorted((a, b) => b[1] - b[0] - (a[1] - a[0]))[0]
  const at = mark?.[0] ?? 0
  let end = 0
  const section = sections.find((one) => {
    end += one.text.length + 1
    return at < end
  })
  return {
    part,
    label: section?.label ?? "part",
    offset: Math.max(0, at - leadUnits),
    length: text.length,
    around: snippet(text, mark ? [mark] : [], { widthMax: snippetMax }).snippet,
  }
}

function moreLines(from: RecalledFrom, { shown, hasAll }: { shown: string[]; hasAll: boolean }): string[] {
  const more = from.more + from.hits.length - shown.length
  if (more === 0) return []
  const common = from.isCommon ? " or more; the words are common, so add others" : ""
  const count = `(At most ${more} messages more${common}`
  // Messages with only some of the words are not in order.
  if (!hasAll) return [`${count}.)`]
  const older = { before: from.hits[shown.length - 1]!.item.position, session: from.below?.id }
  return [`${count}. For older ones add ${JSON.stringify(older)} to the query.)`]
}

function readFrom(
  { hits, below }: RecalledFrom,
  { terms, session = below?.id }: { terms: SearchTerms; session: string | undefined },
) {
  const { part, offset } = findIn(hits[0]!, terms)
  return { position: hits[0]!.item.position, part, offset: offset || undefined, session }
}
