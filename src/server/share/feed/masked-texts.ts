import type { SharedMask } from "../mask/mask-shared.ts"

/** More of a name or a title is not shown. */
export const nameUnitsMax = 200
/** A secret that begins before a cut is found if it ends within this. */
const marginUnits = 8192

export interface LongText {
  text: string
  /** More than this of it is not shown. */
  unitsMax: number
}

/**
 * Texts as they are shown one after the other. Long ones are cut, and looked through a little further than that. What lies
 * behind a cut is never shown, however much before it was taken out: a secret may end where nobody has looked.
 */
export function shownTexts(texts: readonly LongText[], mask: SharedMask): string[] {
  const clean = mask(texts.flatMap(headAndMargin))
  return texts.map(({ text, unitsMax }, index) =>
    shortened(clean[2 * index]!, { unitsMax, isCut: text.length > unitsMax }),
  )
}

export function headAndMargin({ text, unitsMax }: LongText): [head: string, margin: string] {
  if (unitsMax === 0) return ["", ""]
  return [text.slice(0, unitsMax), text.slice(unitsMax, unitsMax + marginUnits)]
}

/** Never in the middle of a character. */
function shortened(text: string, { unitsMax, isCut }: { unitsMax: number; isCut: boolean }): string {
  if (text.length <= unitsMax && !isCut) return text
  return `${text.slice(0, unitsMax).replace(/[\uD800-\uDBFF]$/, "")} …`
}
