import { type MachinePath, machinePaths, pathMarks } from "./machine-paths.ts"
import { namedSpans } from "./named-secrets.ts"
import { privateKeySpans } from "./private-keys.ts"
import { formatSpans } from "./secret-formats.ts"
import { appearances, valueSpans } from "./secret-values.ts"
import { type Replacement, type TextSpan, union } from "./text-span.ts"

export const hidden = "[redacted]"

export interface Hidden {
  /** Secrets that are known word for word. */
  values: readonly string[]
  /** Directories of this machine. */
  paths: readonly MachinePath[]
}

/** Takes secrets and places of the machine out of texts that are shown one after the other. */
export type SharedMask = (texts: readonly string[]) => string[]

/**
 * Secrets are looked for in each text as a whole, and in all of them put together: one that was cut in two is found too. The
 * time it takes grows with the length of the texts, whatever is in them.
 */
export function createSharedMask({ values, paths }: Hidden): SharedMask {
  const known = appearances(values)
  const places = machinePaths(paths)
  const secretsIn = (text: string) => [
    ...valueSpans(text, known),
    ...formatSpans(text),
    ...privateKeySpans(text),
    ...namedSpans(text),
  ]
  return (texts) => {
    const joined = texts.join("")
    const spans = secretsIn(joined)
    const paths = pathMarks(joined, places)
    if (texts.filter((text) => text !== "").length > 1) {
      let offset = 0
      for (const text of texts) {
        for (const span of secretsIn(text)) spans.push(shifted(span, offset))
        for (const mark of pathMarks(text, places)) paths.push({ ...mark, ...shifted(mark, offset) })
        offset += text.length
      }
    }
    return pieces(texts, allMarks(spans, apart(paths)))
  }
}

/** In order, and of two that overlap the one that begins first. */
function apart(marks: readonly Replacement[]): Replacement[] {
  const kept: Replacement[] = []
  for (const mark of marks.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (mark.start >= (kept.at(-1)?.end ?? 0)) kept.push(mark)
  }
  return kept
}

function shifted(span: TextSpan, by: number): TextSpan {
  return { start: span.start + by, end: span.end + by }
}

/** Secrets first; a path that touches one is within it or left as it is. */
function allMarks(spans: readonly TextSpan[], paths: readonly Replacement[]): Replacement[] {
  const secrets = union(spans).map((span): Replacement => ({ ...span, text: hidden }))
  let at = 0
  const clear = paths.filter((path) => {
    while (at < secrets.length && secrets[at]!.end <= path.start) at++
    return at >= secrets.length || secrets[at]!.start >= path.end
  })
  return [...secrets, ...clear].sort((a, b) => a.start - b.start)
}

/** The texts with the marks in place; a mark that lies in two of them is shown in the first. */
function pieces(texts: readonly string[], marks: readonly Replacement[]): string[] {
  let offset = 0
  let next = 0
  return texts.map((text) => {
    const end = offset + text.length
    let shown = ""
    let at = offset
    for (; next < marks.length && marks[next]!.start < end; next++) {
      const mark = marks[next]!
      if (mark.start >= at) shown += text.slice(at - offset, mark.start - offset)
      if (mark.start >= offset) shown += mark.text
      at = Math.max(at, mark.end)
      if (mark.end > end) break
    }
    if (at < end) shown += text.slice(at - offset)
    offset = end
    return shown
  })
}
