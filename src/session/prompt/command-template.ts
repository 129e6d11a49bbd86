import { StemmaError } from "../../protocol/index.ts"
import { type Reference, referencesIn } from "./references.ts"

/** A command template with its arguments filled in. */
export interface ExpandedTemplate {
  text: string
  /**
   * Spans of the references in `text` that come from the template alone: whatever the arguments are, these references
   * mean what the template's author wrote. A reference is fixed only if its start and end match a span exactly, and
   * only as long as `text` is not changed.
   */
  fixed: { start: number; end: number }[]
}

/** A limit, because a template may repeat long arguments many times. */
const charactersMax = 4 * 1024 * 1024

/** A price such as $100 is not a placeholder. */
const placeholder = /\$(?:ARGUMENTS(?!\w)|([1-9]\d?)(?!\d))/g
/** A quotation mark groups words only at the start and end of a word, so that an apostrophe stays an apostrophe. */
const argument = /"([^"]*)"(?!\S)|'([^']*)'(?!\S)|(\S+)/g

/**
 * Fills the arguments into a template: `$ARGUMENTS` is all of them as typed, and `$1`, `$2` and so on are single
 * arguments. The placeholder with the highest number gets all remaining arguments. A template without placeholders gets
 * the arguments appended after a blank line. Throws `invalid` if the result is too long.
 */
export function expandTemplate(template: string, args: string): ExpandedTemplate {
  const slots = slotsOf(template)
  const values = valuesOf(slots, args)
  const appended = slots.length === 0 && args.trim() !== "" ? args : ""
  const length = [template, appended, ...values].reduce((sum, { length }) => sum + length, 0)
  if (length > charactersMax)
    throw new StemmaError("invalid", "The expanded command is longer than 4 MiB. Give it shorter arguments.")
  const filled = fillSlots(template, slots, values)
  const gap = template !== "" && appended !== "" ? "\n\n" : ""
  const text = filled.text + gap + appended
  // Arguments may put a reference into code, where it has no effect.
  const found = new Set(referencesIn(text).map(({ start, end }) => `${start}-${end}`))
  const fixed = ownReferences(template)
    .map((reference) => moveSpan(reference, { from: slots, to: filled.spans }))
    .filter(({ start, end }) => found.has(`${start}-${end}`))
  return { text, fixed }
}

/**
 * The references that come from the template alone, with their spans in the template: references that neither contain a
 * placeholder nor touch one. Only these can be `fixed`.
 */
export function ownReferences(template: string): Reference[] {
  const slots = slotsOf(template)
  // A letter in every placeholder reveals which references an argument could extend.
  const probe = fillSlots(
    template,
    slots,
    slots.map(() => "x"),
  )
  return referencesIn(probe.text)
    .filter(({ start, end }) => !probe.spans.some((span) => span.start < end && span.end > start))
    .map((reference) => ({ ...reference, ...moveSpan(reference, { from: probe.spans, to: slots }) }))
}

interface Span {
  start: number
  end: number
}

/** A placeholder of the template. */
interface Slot extends Span {
  /** Undefined for `$ARGUMENTS`. */
  number: number | undefined
}

/** A template with its placeholders filled, and the span of each value. */
interface Filled {
  text: string
  spans: Span[]
}

function slotsOf(template: string): Slot[] {
  return [...template.matchAll(placeholder)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    number: match[1] === undefined ? undefined : Number(match[1]),
  }))
}

function valuesOf(slots: readonly Slot[], args: string): string[] {
  const single = [...args.matchAll(argument)].map((match) => match[1] ?? match[2] ?? match[3]!)
  const last = slots.reduce((highest, { number }) => Math.max(highest, number ?? 1), 1)
  const rest = single.slice(last - 1).join(" ")
  return slots.map(({ number }) => {
    if (number === undefined) return args
    return number === last ? rest : (single[number - 1] ?? "")
  })
}

function fillSlots(template: string, slots: readonly Slot[], values: readonly string[]): Filled {
  const spans: Span[] = []
  let text = ""
  let at = 0
  for (const [index, slot] of slots.entries()) {
    text += template.slice(at, slot.start)
    const start = text.length
    text += values[index]!
    spans.push({ start, end: text.length })
    at = slot.end
  }
  return { text: text + template.slice(at), spans }
}

/**
 * Moves a span from one filling of a template to another: the two texts differ only in the values of the placeholders.
 */
function moveSpan(span: Span, { from, to }: { from: readonly Span[]; to: readonly Span[] }): Span {
  const before = from.findLastIndex((slot) => slot.end <= span.start)
  const by = before < 0 ? 0 : to[before]!.end - from[before]!.end
  return { start: span.start + by, end: span.end + by }
}
