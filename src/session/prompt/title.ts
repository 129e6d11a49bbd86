import type { HistoryItem, PartBody } from "../../protocol/index.ts"
import { visibleLine } from "../text/visible-text.ts"

const rootPrefix = "New session - "
const childPrefix = "Child session - "
const isoTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

const titleLengthMax = 30
/** One visible character may have any number of combining marks, so the length in UTF-16 units is limited too. */
const titleUnitsMax = 480

/** The title of a session that has no title yet. */
export function defaultTitle(options: { child: boolean; nowMs: number }): string {
  return (options.child ? childPrefix : rootPrefix) + new Date(options.nowMs).toISOString()
}

/** True for exactly the titles that `defaultTitle` makes. Such a title may be replaced by a better one. */
export function isDefaultTitle(title: string): boolean {
  const prefix = [rootPrefix, childPrefix].find((candidate) => title.startsWith(candidate))
  return prefix !== undefined && isoTime.test(title.slice(prefix.length))
}

/**
 * The first 30 visible characters (grapheme clusters) of a text, without invisible characters and with each run of
 * white space made one space. Empty if nothing is visible.
 */
export function titleFromText(text: string): string {
  let title = ""
  let length = 0
  const start = text.trimStart().slice(0, titleUnitsMax * 4)
  const folded = visibleLine(start.toWellFormed())
  // Each of these is one visible character. A segmenter takes 10 ms to make.
  if (/^[ -~]*$/.test(folded)) return folded.slice(0, titleLengthMax).trimEnd()
  for (const { segment } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(folded)) {
    if (length === titleLengthMax || title.length + segment.length > titleUnitsMax) break
    title += segment
    length++
  }
  return title.trimEnd()
}

/** The title that a prompt gives to a session with a default title. Empty if the prompt has no visible text. */
export function promptTitle(parts: readonly PartBody[]): string {
  const text = parts.find((part) => part.type === "text" && !part.synthetic && !part.ignored)
  return text?.type === "text" ? titleFromText(text.text) : ""
}

/** The titles that a session may have got from this part: none or one. */
export function titlesFrom(part: PartBody): string[] {
  const title = part.type === "text" ? titleFromText(part.text) : ""
  return title === "" ? [] : [title]
}

/** A session's title comes from one of its first messages: only this many are read to find it. */
export const namesakesMax = 20

/** True if the title comes from one of these messages. A fork or revert that drops these messages resets the title. */
export function isTitleFrom(title: string, items: readonly HistoryItem[]): boolean {
  return items.some(({ message, parts }) => message.role === "user" && promptTitle(parts) === title)
}
