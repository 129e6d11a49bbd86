import type { SharedMask } from "../mask/mask-shared.ts"

/** The maximum length of a name or a title. */
export const nameUnitsMax = 200
/** A secret that begins before a cut is found if it ends within this distance after the cut. */
const marginUnits = 8192

export interface LimitedText {
  text: string
  /** The maximum length of the text that is shown. */
  unitsMax: number
}

/**
 * Masks consecutive texts and cuts long ones. The search for secrets goes a little beyond each cut. Text behind a cut
 * is never shown, however much before it was masked: a secret may end where the search has not looked.
 */
export function maskedTexts(texts: readonly LimitedText[], mask: SharedMask): string[] {
  const clean = mask(texts.flatMap(headAndMargin))
  return texts.map(({ text, unitsMax }, index) =>
    shortened(clean[2 * index]!, { unitsMax, isCut: text.length > unitsMax }),
  )
}

export function headAndMargin({ text, unitsMax }: LimitedText): [head: string, margin: string] {
  if (unitsMax === 0) return ["", ""]
  return [text.slice(0, unitsMax), text.slice(unitsMax, unitsMax + marginUnits)]
}

/** Cuts a text, never in the middle of a character. */
function shortened(text: string, { unitsMax, isCut }: { unitsMax: number; isCut: boolean }): string {
  if (text.length <= unitsMax && !isCut) return text
  return `${text.slice(0, unitsMax).replace(/[\uD800-\uDBFF]$/, "")} …`
}
