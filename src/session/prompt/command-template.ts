import { StemmaError } from "../../protocol/index.ts"
import { type Reference, referencesIn } from "./references.ts"

/** What a command says once its arguments are in. */
export interface ExpandedTemplate {
  text: string
  /**
   * Where in the text references stand that the template makes by itself: whatever the arguments are, they say what the template
   * says. Only a reference of `text` with exactly this start and end is meant, and only as long as the text is not changed.
   */
  fixed: { start: number; end: number }[]
}

/** A template that repeats long arguments would grow without end. */
const charactersMax = 4 * 1024 * 1024

/** Prices such as $100 are no placeholders. */
const placeholder = /\$(?:ARGUMENTS(?!\w)|([1-9]\d?)(?!\d))/g
/** A quote groups only where it begins and ends a word, so that an apostrophe stays what it is. */
const argument = /"([^"]*)"(?!\S)|'([^']*)'(?!\S)|(\S+)/g

/**
 * Puts the arguments into a template: `$ARGUMENTS` is all of them as typed, `$1`, `$2` and so on single ones, of which the one
 * with the highest number takes all the rest. Without any of these the arguments follow after a blank line. Throws `invalid` if
 * it becomes too long.
 */
export function expandTemplate(template: string, args: string): ExpandedTemplate {
  const slots = slotsOf(template)
  const values = valuesOf(slots, args)
  const appended = slots.length === 0 && args.trim() !== "" ? args : ""
  const length = [template, appended, ...values].reduce((sum, { length }) => sum + length, 0)
  if (length > charactersMax)
    throw new StemmaError("invalid", "The command becomes over 4 MiB long. Give it shorter arguments.")
  const filled = fillSlots(template, slots, values)
  const gap = template !== "" && appended !== "" ? "\n\n" : ""
  const text = filled.text + gap + appended
  // Arguments may put a reference into code, where it says nothing.
  const found = new Set(referencesIn(text).map(({ start, end }) => `${start}-${end}`))
  const fixed = ownReferences(template)
    .map((reference) => moved(reference, { from: slots, to: filled.spans }))
    .filter(({ start, end }) => found.has(`${start}-${end}`))
  return { text, fixed }
}

/**
 * The references that a template makes by itself, where they stand in it: those that hold no placeholder and touch none. No
 * others are ever `fixed`.
 */
export function ownReferences(template: string): Reference[] {
  const slots = slotsOf(template)
  // A letter in every slot shows which references would grow by what is put there: they become other ones.
  const probe = fillSlots(
    template,
    slots,
    slots.map(() => "x"),
  )
  return referencesIn(probe.text)
    .filter(({ start, end }) => !probe.spans.some((span) => span.start < end && span.end > start))
    .map((reference) => ({ ...reference, ...moved(reference, { from: probe.spans, to: slots }) }))
}

interface Span {
  start: number
  end: number
}

/** A placeholder of the template. */
interface Slot extends Span {
  /** Undefined for all arguments. */
  number: number | undefined
}

/** A template with something in its slots, and where that stands. */
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

/** Where something stands in a text that differs only by what is in its slots. */
function moved(span: Span, { from, to }: { from: readonly Span[]; to: readonly Span[] }): Span {
  const before = from.findLastIndex((slot) => slot.end <= span.start)
  const by = before < 0 ? 0 : to[before]!.end - from[before]!.end
  return { start: span.start + by, end: span.end + by }
}
