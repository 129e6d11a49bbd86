import { nameRank, pathOf } from "../names.ts"

/** How many places the weights of features have; features share a place when their hashes do. */
export const featurePlaces = 1 << 18

/**
 * What a sentence is made of, as places in a table of weights: its words (in Chinese its characters) by one, two and three in
 * a row, with where it begins and ends. Names and numbers count as what they are, not by their letters.
 */
export function featuresOf(sentence: string): number[] {
  const tokens = ["^", ...tokensOf(sentence), "$"]
  const places = new Set<number>()
  for (let at = 0; at < tokens.length; at++) {
    let gram = ""
    for (let length = 0; length < 3 && at + length < tokens.length; length++) {
      gram += `${tokens[at + length]} `
      places.add(placeOf(gram))
    }
    if (at + 2 < tokens.length) places.add(placeOf(`${tokens[at]} * ${tokens[at + 2]}`))
  }
  places.add(placeOf(`length ${Math.min(8, Math.round(Math.log2(tokens.length) * 2))}`))
  return [...places]
}

/** Longer ones say nothing more about how they are said. */
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

/** FNV-1a, folded. */
function placeOf(gram: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < gram.length; at++) hash = Math.imul(hash ^ gram.charCodeAt(at), 0x01000193)
  return ((hash >>> 15) ^ hash) & (featurePlaces - 1)
}
