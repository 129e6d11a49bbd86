import { openExplanationsEn, openNoiseEn } from "./open-noise-en.ts"
import { openExplanationsZh, openNoiseZh } from "./open-noise-zh.ts"
import type { Language } from "./phrasing.ts"

/** Sentences of users apart from the facts. `[this|that]` means one of the alternatives; slots are as in phrasings. */
export const openNoise: Record<Language, readonly string[]> = { en: openNoiseEn, zh: openNoiseZh }

/** Explanations of assistants. */
export const openExplanations: Record<Language, readonly string[]> = {
  en: openExplanationsEn,
  zh: openExplanationsZh,
}
