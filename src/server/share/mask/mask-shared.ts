import { type MachinePath, machinePaths, pathReplacements } from "./machine-paths.ts"
import { assignedSpans } from "./secrets/assigned-secrets.ts"
import { privateKeySpans } from "./secrets/private-keys.ts"
import { requestSpans } from "./secrets/request-secrets.ts"
import { formatSpans } from "./secrets/secret-formats.ts"
import { secretSearch, valueSpans } from "./secrets/secret-values.ts"
import { type Replacement, type TextSpan, union, withoutOverlaps } from "./text-span.ts"

export const maskText = "[redacted]"

export interface MaskTargets {
  /** Secrets that are known literally. */
  values: readonly string[]
  paths: readonly MachinePath[]
}

/** Masks secrets and directories of the machine in consecutive texts. */
export type SharedMask = (texts: readonly string[]) => string[]

/**
 * Searches each text alone, and all texts joined, so that a secret that is split between two texts is found too. The
 * time is linear in the length of the texts, whatever they contain.
 */
export function createSharedMask({ values, paths }: MaskTargets): SharedMask {
  const known = secretSearch(values)
  const directories = machinePaths(paths)
  const secretsIn = (text: string) => [
    ...valueSpans(text, known),
    ...formatSpans(text),
    ...privateKeySpans(text),
    ...assignedSpans(text),
    ...requestSpans(text),
  ]
  return (texts) => {
    const joined = texts.join("")
    const spans = secretsIn(joined)
    const paths = pathReplacements(joined, directories)
    if (texts.filter((text) => text !== "").length > 1) {
      let offset = 0
      for (const text of texts) {
        for (const span of secretsIn(text)) spans.push(shifted(span, offset))
        for (const replacement of pathReplacements(text, directories))
          paths.push({ ...replacement, ...shifted(replacement, offset) })
        offset += text.length
      }
    }
    return applyReplacements(texts, allReplacements(spans, withoutOverlaps(paths)))
  }
}

function shifted(span: TextSpan, by: number): TextSpan {
  return { start: span.start + by, end: span.end + by }
}

/** Secrets have priority: a path that overlaps a secret is not replaced. */
function allReplacements(spans: readonly TextSpan[], paths: readonly Replacement[]): Replacement[] {
  const secrets = union(spans).map((span): Replacement => ({ ...span, text: maskText }))
  let at = 0
  const clear = paths.filter((path) => {
    while (at < secrets.length && secrets[at]!.end <= path.start) at++
    return at >= secrets.length || secrets[at]!.start >= path.end
  })
  return [...secrets, ...clear].sort((a, b) => a.start - b.start)
}

/** Applies the replacements. A replacement that spans two texts is written in the first. */
function applyReplacements(texts: readonly string[], replacements: readonly Replacement[]): string[] {
  let offset = 0
  let next = 0
  return texts.map((text) => {
    const end = offset + text.length
    let shown = ""
    let at = offset
    for (; next < replacements.length && replacements[next]!.start < end; next++) {
      const replacement = replacements[next]!
      if (replacement.start >= at) shown += text.slice(at - offset, replacement.start - offset)
      if (replacement.start >= offset) shown += replacement.text
      at = Math.max(at, replacement.end)
      if (replacement.end > end) break
    }
    if (at < end) shown += text.slice(at - offset)
    offset = end
    return shown
  })
}
