import { openExplanationsEn, openNoiseEn } from "./open-noise-en.ts"
import { openExplanationsZh, openNoiseZh } from "./open-noise-zh.ts"
import type { Language } from "./phrasing.ts"

/** What users say beside. `[this|that]` stands for one of these; slots are as in phrasings. */
export const openNoise: Record<Language, readonly string[]> = { en: openNoiseEn, zh: openNoiseZh }

/** What assistants explain. */
export const openExplanations: Record<Language, readonly string[]> = {
  en: openExplanationsEn,
  zh: openExplanationsZh,
}
