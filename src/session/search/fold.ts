/**
 * Characters that `toLowerCase` folds by their neighbours, to another length or not at all, and characters that people
 * type in another form: full-width letters and digits, the typographic apostrophe.
 */
const special = /[İıΣςſµ‘’０-９Ａ-Ｚａ-ｚ]/g

const folds: Record<string, string> = {
  İ: "i",
  ı: "i",
  Σ: "σ",
  ς: "σ",
  ſ: "s",
  µ: "μ",
  "‘": "'",
  "’": "'",
}

const fullWidthOffset = 0xfee0

/**
 * The text without differences of case, folded character by character: every offset in the result is an offset in
 * `text`.
 */
export function foldText(text: string): string {
  return text.replace(special, foldSpecial).toLowerCase()
}

function foldSpecial(character: string): string {
  return folds[character] ?? String.fromCharCode(character.charCodeAt(0) - fullWidthOffset)
}
