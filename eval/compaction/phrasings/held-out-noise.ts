import { heldOutExplanationsEn, heldOutNoiseEn } from "./held-out-noise-en.ts"
import { heldOutExplanationsZh, heldOutNoiseZh } from "./held-out-noise-zh.ts"
import type { Language } from "./phrasing.ts"

/** What users say beside. `[this|that]` stands for one of these; slots are as in phrasings. */
export const heldOutNoise: Record<Language, readonly string[]> = { en: heldOutNoiseEn, zh: heldOutNoiseZh }

/** What assistants explain. */
export const heldOutExplanations: Record<Language, readonly string[]> = {
  en: heldOutExplanationsEn,
  zh: heldOutExplanationsZh,
}
