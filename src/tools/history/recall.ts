import { z } from "zod"
import type { HistoryItem } from "../../protocol/index.ts"
import type { BelowSession, SessionHistory, Tool, ToolResult } from "../tool.ts"
import { searchHistory } from "./recall-search.ts"
import { legend, messagesMax, readMessage, recallCall, sessionName } from "./recall-text.ts"

const nonNegative = z.number().int().min(0).max(1_000_000_000)

const RecallInput = z.object({
  query: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('Words to find, "words that stand together", or how one begins: conf*'),
  position: nonNegative.optional().describe("The first message to read or search"),
  before: nonNegative.min(1).optional().describe("Only what came before this position, the newest of it"),
  part: nonNegative.optional().describe("With position: reads this part whole"),
  offset: nonNegative.optional().describe("With part: the character to begin at"),
  count: z.number().int().min(1).max(50).optional().describe("How many messages at most"),
  session: z.string().min(1).max(100).optional().describe("A child session's id; this session if absent"),
})
export type RecallInput = z.infer<typeof RecallInput>

export const recallTool: Tool<RecallInput> = {
  name: "recall",
  description: [
    "Searches and reads the whole history of this session and its children, also what a summary, pruning or trimming",
    "hides from you. Use it before you guess or ask again about something said or done earlier. With query it searches;",
    "without, it reads messages in order, by default the last that you are not shown.",
  ].join("\n"),
  input: RecallInput,
  replay: "safe",
  writes: false,
  wants: async () => [{ permission: "recall", patterns: ["*"], always: ["*"] }],
  execute: async (input, { history }) => {
    if (input.query !== undefined) return searchHistory({ ...input, query: input.query }, history)
    if (input.part === undefined) return readPage(input, history)
    if (input.position === undefined)
      throw new Error("Give `position` with `part`: the message that it is in.")
    return readPart({ ...input, position: input.position, part: input.part }, history)
  },
}

/** How many messages are read by default. */
const readCount = 20
const childrenMax = 5

async function readPage(input: RecallInput, history: SessionHistory): Promise<ToolResult> {
  const { position, before, session, count = readCount } = input
  const isDefault = position === undefined && before === undefined
  const range = { sessionID: session, limit: count }
  const page = await history.page({ ...range, from: position, to: before })
  const { end, shownFrom = 0 } = page
  // Messages that the model is shown anyway are of no use to it.
  const isHidden = isDefault && shownFrom > 0 && shownFrom < end
  const items = isHidden ? (await history.page({ ...range, to: shownFrom })).items : page.items
  if (items.length === 0) throw new Error(noMessageText(end, input))
  const shown = fitting(items, { session, take: position === undefined ? "end" : "start" })
  const first = shown[0]!.position
  const last = shown.at(-1)!.position
  const seen = shownFrom > 0 ? `, and you are shown what begins at ${shownFrom}` : ""
  const lines = [
    `Messages ${first} to ${last}; ${sessionName(undefined, session)} has 0 to ${end - 1}${seen}. ${legend}`,
    ...shown.map(({ text }) => text),
    ...(first > 0 ? [`Before these: ${recallCall({ before: first, session })}`] : []),
    ...(last + 1 < end ? [`After these: ${recallCall({ position: last + 1, session })}`] : []),
    ...(isDefault && session === undefined ? childLines(await history.children(childrenMax + 1)) : []),
  ]
  return { title: `Messages ${first} to ${last}`, output: lines.join("\n\n"), metadata: { first, last } }
}

/** As many messages as fit, from one end on and without a gap. */
function fitting(
  items: readonly HistoryItem[],
  { session, take }: { session: string | undefined; take: "start" | "end" },
): { position: number; text: string }[] {
  const shown: { position: number; text: string }[] = []
  let room = messagesMax
  for (const item of take === "start" ? items : items.toReversed()) {
    const text = readMessage(item, { max: messagesMax, session })
    if (shown.length > 0 && text.length > room) break
    shown.push({ position: item.position, text })
    room -= text.length + 2
  }
  return take === "start" ? shown : shown.reverse()
}

async function readPart(
  { position, part, offset = 0, session }: RecallInput & { position: number; part: number },
  history: SessionHistory,
): Promise<ToolResult> {
  const range = { from: position, to: position + 1, limit: 1 }
  const { items, end } = await history.page({ ...range, sessionID: session })
  const [item] = items
  if (!item) throw new Error(noMessageText(end, { position }))
  if (part >= item.parts.length) {
    throw new Error(
      `Message ${position} has no part ${part}: see ${recallCall({ position, count: 1, session })}.`,
    )
  }
  const text = readMessage(item, { max: messagesMax, start: { part, offset }, session })
  return {
    title: `Message ${position}`,
    output: `A message of ${sessionName(undefined, session)}. ${legend}\n\n${text}`,
    metadata: { first: position, last: position },
  }
}

function noMessageText(
  end: number,
  { position = 0, before }: Pick<RecallInput, "position" | "before">,
): string {
  if (end === 0) return "There are no messages yet."
  const range = before === undefined ? `at ${position} or after` : `from ${position} to before ${before}`
  return `There is no message ${range}: the history goes from 0 to ${end - 1}.`
}

function childLines(children: readonly BelowSession[]): string[] {
  if (children.length === 0) return []
  const names = children.slice(0, childrenMax).map((child) => sessionName(child, undefined))
  const more = children.length > childrenMax ? "; and more" : ""
  return [`There are: ${names.join("; ")}${more}. To read one: ${recallCall({ session: children[0]!.id })}`]
}
