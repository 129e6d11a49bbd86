import type { HistoryItem, PartBody } from "../../protocol/index.ts"
import { visibleLine } from "../text/visible-text.ts"

const rootPrefix = "New session - "
const childPrefix = "Child session - "
const isoTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

const titleLengthMax = 30
/** A single character may have any number of marks; past so many units the rest is cut all the same. */
const titleUnitsMax = 480

/** The title of a session that nobody has named yet. */
export function defaultTitle(options: { child: boolean; nowMs: number }): string {
  return (options.child ? childPrefix : rootPrefix) + new Date(options.nowMs).toISOString()
}

/** True for exactly what `defaultTitle` gives: such a title may be replaced by a better one. */
export function isDefaultTitle(title: string): boolean {
  const prefix = [rootPrefix, childPrefix].find((candidate) => title.startsWith(candidate))
  return prefix !== undefined && isoTime.test(title.slice(prefix.length))
}

/**
 * The first 30 characters as people count them, without those that cannot be seen and with every run of white space made
 * one space. Empty if there is nothing to show.
 */
export function titleFromText(text: string): string {
  let title = ""
  let length = 0
  const start = text.trimStart().slice(0, titleUnitsMax * 4)
  const folded = visibleLine(start.toWellFormed())
  for (const { segment } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(folded)) {
    if (length === titleLengthMax || title.length + segment.length > titleUnitsMax) break
    title += segment
    length++
  }
  return title.trimEnd()
}

/** The title that a prompt gives to a session that nobody has named; empty if it has none to give. */
export function promptTitle(parts: readonly PartBody[]): string {
  const text = parts.find((part) => part.type === "text" && !part.synthetic && !part.ignored)
  return text?.type === "text" ? titleFromText(text.text) : ""
}

/** What a session may be called after a text: nothing if nobody could see it. */
export function titlesFrom(part: PartBody): string[] {
  const title = part.type === "text" ? titleFromText(part.text) : ""
  return title === "" ? [] : [title]
}

/** A session is called after one of its first messages: only so many are looked at. */
export const namesakesMax = 20

/** True if a session is called after one of these messages: with that gone, nobody would know why. */
export function isTitleFrom(title: string, items: readonly HistoryItem[]): boolean {
  return items.some(({ message, parts }) => message.role === "user" && promptTitle(parts) === title)
}
