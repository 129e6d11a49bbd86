import type { HistoryItem, LedgerFacts, Part } from "../../protocol/index.ts"
import { redacted } from "../history/redact.ts"
import { fileRanks, toolFacts } from "./calls/tool-facts.ts"
import { choose } from "./choose.ts"
import { Facts } from "./collect.ts"
import { limits } from "./sentences/cues.ts"
import { assistantFacts, farUserFacts, userFacts } from "./text-facts.ts"

/**
 * The ledger of a compaction. `before` is the ledger of the previous compaction; `items` are the messages that this
 * compaction newly hides, in order. Takes time in proportion to both.
 */
export function extendLedger(
  before: LedgerFacts | undefined,
  items: readonly HistoryItem[],
  options: { budgetTokens: number },
): LedgerFacts {
  const ledger = growingLedger(before)
  const newest = newestPrompt(items)
  const near = nearStart(items)
  for (const [index, item] of items.entries())
    ledger.add(item, { isNewest: index === newest, isFar: index < near && index !== newest })
  return ledger.chosen(options)
}

/** Makes a ledger one item at a time, for a caller that must yield to the event loop in between. */
export interface GrowingLedger {
  /**
   * `isNewest`: the item is the last prompt among the hidden items. `isFar`: the item comes before `nearStart`; of its
   * text, only what the user forbids, demands or limits is read.
   */
  add(item: HistoryItem, options: { isNewest: boolean; isFar: boolean }): void
  chosen(options: { budgetTokens: number }): LedgerFacts
}

export function growingLedger(before: LedgerFacts | undefined): GrowingLedger {
  const facts = new Facts(before)
  let directories: string[] = []
  return {
    add({ message, parts }, { isNewest, isFar }) {
      if (message.role === "assistant") {
        if (message.summary) return
        directories = [message.path.cwd, message.path.root]
      }
      if (isNewest) facts.forgetNewest()
      const within = (path: string) => relative(path, directories)
      for (const part of parts) addPart(part, facts, { role: message.role, within, newest: isNewest, isFar })
    },
    chosen: (options) => choose(facts, options),
  }
}

/** The index of the last item with text from the user. */
export function newestPrompt(items: readonly HistoryItem[]): number {
  return items.findLastIndex(({ message, parts }) => message.role === "user" && parts.some(isSaid))
}

/**
 * About how many characters of text are read closely. A compaction in time hides less than this. An imported history may be
 * much longer, and reading it closely would take several seconds.
 */
const nearCharacters = 256 * 1024

/** The index of the first item whose text is read closely: the last items with `nearCharacters` of text. */
export function nearStart(items: readonly HistoryItem[]): number {
  let left = nearCharacters
  for (let index = items.length - 1; index >= 0; index--) {
    for (const part of items[index]!.parts) if (part.type === "text") left -= part.text.length
    if (left < 0) return index
  }
  return 0
}

/** False for an item before `nearStart` that has no facts, so that the caller need not prepare it. */
export function mayHaveFarFacts({ message, parts }: HistoryItem): boolean {
  return parts.some((part) => part.type !== "text" || (message.role === "user" && limits.test(part.text)))
}

interface PartOptions {
  role: "user" | "assistant"
  within: (path: string) => string
  newest: boolean
  isFar: boolean
}

function isSaid(part: Part): boolean {
  return (
    part.type === "text" &&
    !part.synthetic &&
    !part.ignored &&
    part.text.trim() !== "" &&
    part.text !== redacted
  )
}

function addPart(part: Part, facts: Facts, { role, within, newest, isFar }: PartOptions): void {
  switch (part.type) {
    case "text":
      if (!isSaid(part)) return
      if (isFar) {
        if (role === "user") farUserFacts(part.text, facts, { within })
      } else if (role === "user") userFacts(part.text, facts, { within, newest })
      else assistantFacts(part.text, facts, { within })
      return
    case "subtask":
      if (role === "user") userFacts(part.prompt, facts, { within, newest })
      return
    case "tool":
      toolFacts(part, facts, within)
      return
    case "patch":
      for (const path of part.files) facts.file(within(path), { changes: 1, rank: fileRanks.changed })
      return
    case "file":
      if (part.source) facts.file(within(part.source.path), { reads: 1, rank: fileRanks.named })
      return
    case "reasoning":
    case "agent":
    case "compaction":
    case "retry":
    case "step-start":
    case "step-finish":
    case "snapshot":
      return
  }
}

/** The path relative to the session's directory, so that one file has one name. */
function relative(path: string, directories: readonly string[]): string {
  for (const directory of directories) {
    if (directory.length > 1 && path.startsWith(`${directory}/`)) return path.slice(directory.length + 1)
  }
  return path.startsWith("./") ? path.slice(2) : path
}
