import type { Session } from "../../../protocol/index.ts"
import { defaultTitle, titleFromText } from "../../../session/index.ts"
import type { SharedMask } from "../mask/mask-shared.ts"
import { headAndMargin, maskedTexts, nameUnitsMax } from "./masked-texts.ts"

/** How much of a prompt is searched for the title's words. */
const titleSourceUnits = 2000
const sourceTextsMax = 10

/** The prompt that a session's title was made from, if it is known. */
export interface TitleSource {
  /** The title that the prompt would give. */
  title: string
  /** The texts of the prompt. */
  texts: readonly string[]
  /** True if the prompt is not visible now. */
  isHidden: boolean
}

/** A title of at least this length may end in the middle of a secret. */
const cutTitleMin = 25
/**
 * Texts that may have followed the cut. With one of them appended, the beginning of a cut secret is recognised again.
 */
const continuations = [
  "@host.example/x",
  // Longer than random text that is masked for itself.
  "a1B2c3D4e5F6g7H8i9J0".repeat(25),
  ":a1B2c3D4e5F6g7H8@host.example/x",
]

/**
 * A title that is the beginning of a prompt may end in the middle of a secret. Then the prompt is masked first, and the
 * title is cut from the result. For other titles the text behind the cut is not known.
 */
export function sharedTitle(
  { title, time }: Session,
  { mask, titleSource }: { mask: SharedMask; titleSource: TitleSource | undefined },
): string {
  // The words of any title come from the prompt, even if a person or a model chose them.
  if (titleSource?.isHidden) return defaultTitle({ child: false, nowMs: time.created })
  const texts = titleSource?.title === title ? titleSource.texts : []
  const at = texts.findIndex((text) => titleFromText(text) === title)
  if (at >= 0) {
    const limited = texts.slice(0, sourceTextsMax).map((text) => ({ text, unitsMax: titleSourceUnits }))
    const clean = mask(limited.flatMap(headAndMargin))
    if (at < sourceTextsMax) return titleFromText(clean[2 * at]!)
  }
  const shown = maskedTexts([{ text: title, unitsMax: nameUnitsMax }], mask)[0]!
  const isCut =
    title.length >= cutTitleMin && continuations.some((more) => becomesSecret(title, { more, mask }))
  return isCut ? withoutLastWords(shown) : shown
}

/** Whether a part of the text becomes a secret when `more` follows it. */
function becomesSecret(text: string, { more, mask }: { more: string; mask: SharedMask }): boolean {
  return !mask([text + more])[0]!.startsWith(mask([text])[0]!)
}

/** The beginning of a cut secret may contain a space, but hardly more than one. */
function withoutLastWords(text: string): string {
  return `${text.replace(/\S*\s*\S*$/, "")}[redacted]`
}
