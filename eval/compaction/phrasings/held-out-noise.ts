import { heldOutExplanationsEn, heldOutNoiseEn } from "./held-out-noise-en.ts"
import { heldOutExplanationsZh, heldOutNoiseZh } from "./held-out-noise-zh.ts"
import type { Language } from "./phrasing.ts"

/** Sentences of users apart from the facts. `[this|that]` means one of the alternatives; slots are as in phrasings. */
export const heldOutNoise: Record<Language, readonly string[]> = { en: heldOutNoiseEn, zh: heldOutNoiseZh }

/** Explanations of assistants. */
export const heldOutExplanations: Record<Language, readonly string[]> = {
  en: heldOutExplanationsEn,
  zh: heldOutExplanationsZh,
}
