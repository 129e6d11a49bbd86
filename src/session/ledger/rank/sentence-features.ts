import { nameRank, pathOf } from "../names.ts"

/** The size of the weight table. Features with the same hash share an entry. */
export const featurePlaces = 1 << 18

/**
 * The features of a sentence, as indexes into the weight table: its words (in Chinese its characters) in groups of one,
 * two and three, with markers for its beginning and end. Names and numbers count by kind, not by their letters.
 */
export function featuresOf(sentence: string): number[] {
  const tokens = ["^", ...tokensOf(sentence), "$"]
  const places = new Set<number>()
  for (let at = 0; at < tokens.length; at++) {
    let gram = ""
    for (let length = 0; length < 3 && at + length < tokens.length; length++) {
      gram += `${tokens[at + length]} `
      places.add(featureIndex(gram))
    }
    if (at + 2 < tokens.length) places.add(featureIndex(`${tokens[at]} * ${tokens[at + 2]}`))
  }
  places.add(featureIndex(`length ${Math.min(8, Math.round(Math.log2(tokens.length) * 2))}`))
  return [...places]
}

/** Further tokens say nothing more about the form of a sentence. */
const tokensMax = 120

const pieces =
  /`[^`\n]{1,200}`|https?:\/\/[^\s，。；、）]+|\p{Script=Han}|[A-Za-z0-9_@#~./\\$%+:&=*-]*[A-Za-z0-9_/](?:['’][a-z]+)?|[?？!！,，:：;；…—()（）"“”]|->|=>|→/gu

function tokensOf(sentence: string): string[] {
  const found: string[] = []
  for (const [piece] of sentence.slice(0, 1_000).matchAll(pieces)) {
    found.push(tokenOf(piece))
    if (found.length === tokensMax) break
  }
  return found
}

const widePunctuation: Record<string, string> = {
  "？": "?",
  "！": "!",
  "，": ",",
  "：": ":",
  "；": ";",
  "（": "(",
  "）": ")",
  "“": '"',
  "”": '"',
}

function tokenOf(piece: string): string {
  if (piece.length === 1)
    return /\d/.test(piece) ? "<number>" : (widePunctuation[piece] ?? piece.toLowerCase())
  if (piece.startsWith("`")) return pathOf(piece.slice(1, -1)) === undefined ? "<code>" : "<path>"
  if (/^[a-z]+(?:['’][a-z]+)?$/i.test(piece)) {
    return /[a-z][A-Z]/.test(piece) ? "<name>" : piece.toLowerCase().replace("’", "'")
  }
  if (/^[\d.,:%-]+$/.test(piece)) return "<number>"
  if (pathOf(piece) !== undefined) return "<path>"
  if (nameRank(piece) > 0 || /[\d_/@#=]/.test(piece)) return "<name>"
  return piece.toLowerCase()
}

/** FNV-1a, folded to the size of the table. */
function featureIndex(gram: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < gram.length; at++) hash = Math.imul(hash ^ gram.charCodeAt(at), 0x01000193)
  return ((hash >>> 15) ^ hash) & (featurePlaces - 1)
}
