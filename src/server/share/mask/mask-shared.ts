import { type MachinePath, machinePaths, pathReplacements } from "./machine-paths.ts"
import { type FoundSecret, findSecrets, randomKind, randomUnitsMin } from "./secrets/finders.ts"
import { secretSearch, valueSpans } from "./secrets/secret-values.ts"
import { type Replacement, type TextSpan, withoutOverlaps } from "./text-span.ts"

export const maskText = "[redacted]"

export interface MaskTargets {
  /** Secrets that are known literally. */
  values: readonly string[]
  paths: readonly MachinePath[]
}

/** A replacement that was made: what was replaced, and in which of the texts. */
export interface Masked {
  kind: string
  text: number
}

/** Masks secrets and directories of the machine in consecutive texts. Reports each replacement, without its content. */
export type SharedMask = (texts: readonly string[], report?: (masked: Masked) => void) => string[]

/** A replacement with the kind of secret that it replaces. */
type KindOfReplacement = Replacement & { kind: string }

/**
 * Searches each text alone, and all texts joined, so that a secret that is split between two texts is found too. The
 * time is linear in the length of the texts, whatever they contain.
 */
export function createSharedMask({ values, paths }: MaskTargets): SharedMask {
  const known = secretSearch(values)
  const directories = machinePaths(paths)
  const secretsIn = (text: string): FoundSecret[] => [
    ...valueSpans(text, known).map((span) => ({ ...span, kind: knownKind })),
    ...findSecrets(text),
  ]
  return (texts, report) => {
    const joined = texts.join("")
    const paths = pathReplacements(joined, directories)
    if (texts.filter((text) => text !== "").length <= 1) {
      return applyReplacements(texts, { replacements: allReplacements(secretsIn(joined), paths), report })
    }
    const secrets = secretsIn(joined).flatMap((found) => splitAtWords(found, texts))
    let offset = 0
    for (const text of texts) {
      for (const { part, start } of edgesOf(text)) {
        for (const found of secretsIn(part)) {
          const isAtCut =
            (start > 0 && found.start === 0) ||
            (start + part.length < text.length && found.end === part.length)
          if (!isAtCut) secrets.push({ ...found, ...shifted(found, offset + start) })
        }
      }
      for (const replacement of pathReplacements(text, directories))
        paths.push({ ...replacement, ...shifted(replacement, offset) })
      offset += text.length
    }
    return applyReplacements(texts, {
      replacements: allReplacements(secrets, withoutOverlaps(paths)),
      report,
    })
  }
}

const knownKind = "value of the environment or the config"
const pathKind = "directory of this machine"
/** A shorter end of a text is no part of random text that spans several texts. */
const fragmentUnitsMin = 6

/** Longer than any secret. */
const edgeUnits = 16 * 1024

/** The ends of a text, which the search of the joined texts may read differently. A short text as a whole. */
function edgesOf(text: string): { part: string; start: number }[] {
  if (text.length <= 2 * edgeUnits) return [{ part: text, start: 0 }]
  const start = text.length - edgeUnits
  return [
    { part: text.slice(0, edgeUnits), start: 0 },
    { part: text.slice(start), start },
  ]
}

function shifted(span: TextSpan, by: number): TextSpan {
  return { start: span.start + by, end: span.end + by }
}

/** Random text that spans several texts does not take in words, or the ends of other texts. */
function splitAtWords(found: FoundSecret, texts: readonly string[]): FoundSecret[] {
  if (found.kind !== randomKind) return [found]
  const kept: FoundSecret[] = []
  let offset = 0
  for (const text of texts) {
    const start = Math.max(found.start, offset)
    const end = Math.min(found.end, offset + text.length)
    const isWord = /^[A-Z]?[a-z]*$/.test(text.slice(start - offset, end - offset))
    if (end - start >= fragmentUnitsMin && !isWord) kept.push({ ...found, start, end })
    offset += text.length
    if (offset >= found.end) break
  }
  const units = kept.reduce((sum, { start, end }) => sum + end - start, 0)
  return units >= randomUnitsMin ? kept : []
}

/** Secrets have priority: a path that overlaps a secret is not replaced. */
function allReplacements(found: readonly FoundSecret[], paths: readonly Replacement[]): KindOfReplacement[] {
  const secrets = unionOfKinds(found)
  let at = 0
  const clear = paths.filter((path) => {
    while (at < secrets.length && secrets[at]!.end <= path.start) at++
    return at >= secrets.length || secrets[at]!.start >= path.end
  })
  return [...secrets, ...clear.map((path) => ({ ...path, kind: pathKind }))].sort((a, b) => a.start - b.start)
}

/** Merges secrets that overlap or touch. The first one gives the kind. */
function unionOfKinds(found: readonly FoundSecret[]): KindOfReplacement[] {
  const sorted = found.filter(({ start, end }) => end > start).sort((a, b) => a.start - b.start)
  const merged: KindOfReplacement[] = []
  for (const { start, end, kind } of sorted) {
    const last = merged.at(-1)
    if (last && start <= last.end) last.end = Math.max(last.end, end)
    else merged.push({ start, end, kind, text: maskText })
  }
  return merged
}

/** Applies the replacements. A replacement that spans two texts is written in the first. */
function applyReplacements(
  texts: readonly string[],
  {
    replacements,
    report,
  }: { replacements: readonly KindOfReplacement[]; report: ((masked: Masked) => void) | undefined },
): string[] {
  let offset = 0
  let next = 0
  return texts.map((text, index) => {
    const end = offset + text.length
    let shown = ""
    let at = offset
    for (; next < replacements.length && replacements[next]!.start < end; next++) {
      const replacement = replacements[next]!
      if (replacement.start >= at) shown += text.slice(at - offset, replacement.start - offset)
      if (replacement.start >= offset) {
        shown += replacement.text
        report?.({ kind: replacement.kind, text: index })
      }
      at = Math.max(at, replacement.end)
      if (replacement.end > end) break
    }
    if (at < end) shown += text.slice(at - offset)
    offset = end
    return shown
  })
}
