import type { Session } from "../../../protocol/index.ts"
import { defaultTitle, titleFromText } from "../../../session/index.ts"
import type { SharedMask } from "../mask/mask-shared.ts"
import { headAndMargin, nameUnitsMax, shownTexts } from "./shown-texts.ts"

/** A title is made of no more than this. */
const titleSourceUnits = 2000
const namesakeTextsMax = 10

/** What a session is called after, if that is known. */
export interface Namesake {
  /** What the first prompt would make of it. */
  title: string
  /** What the prompt says. */
  texts: readonly string[]
  /** Nobody may see the prompt now. */
  isHidden: boolean
}

/** So many characters and more may be the beginning of something that was cut. */
const cutTitleMin = 25
/** What may have stood behind a cut, so that what stands before it looks as it did. */
const continuations = [
  "@host.example/x",
  "a1B2c3D4e5F6g7H8i9J0".repeat(10),
  ":a1B2c3D4e5F6g7H8@host.example/x",
]

/**
 * A title that is the first words of a prompt may end in the middle of a secret: then the prompt is looked through, and cut
 * after that. Of others nobody knows what was cut off.
 */
export function shownTitle(
  { title, time }: Session,
  { mask, namesake }: { mask: SharedMask; namesake: Namesake | undefined },
): string {
  // The words of a title come from the prompt, whoever chose them.
  if (namesake?.isHidden) return defaultTitle({ child: false, nowMs: time.created })
  const texts = namesake?.title === title ? namesake.texts : []
  const at = texts.findIndex((text) => titleFromText(text) === title)
  if (at >= 0) {
    const heads = texts.slice(0, namesakeTextsMax).map((text) => ({ text, unitsMax: titleSourceUnits }))
    const clean = mask(heads.flatMap(headAndMargin))
    if (at < namesakeTextsMax) return titleFromText(clean[2 * at]!)
  }
  const shown = shownTexts([{ text: title, unitsMax: nameUnitsMax }], mask)[0]!
  const isCut = title.length >= cutTitleMin && continuations.some((more) => hidesMore(title, { more, mask }))
  return isCut ? withoutLastWords(shown) : shown
}

/** Whether something of a text is a secret if it goes on like this. */
function hidesMore(text: string, { more, mask }: { more: string; mask: SharedMask }): boolean {
  return !mask([text + more])[0]!.startsWith(mask([text])[0]!)
}

/** What a cut secret begins with may have blanks in it, but hardly more than one. */
function withoutLastWords(text: string): string {
  return `${text.replace(/\S*\s*\S*$/, "")}[redacted]`
}
