import { foldName } from "../../../workspace/path/guarded-names.ts"
import type { Word } from "../parse/script.ts"

const guardedNames = ["stemma.json", "stemma.jsonc", ".stemma", ".git"]

/** The names of the backup copies that a command makes of files that it changes: each file with each suffix. */
export function withSuffixes(files: readonly Word[], suffixes: readonly string[]): Word[] {
  return files.flatMap((file) =>
    file.value === undefined
      ? []
      : suffixes.map((suffix) => ({
          ...file,
          source: `${file.source}${suffix}`,
          value: `${file.value}${suffix}`,
          prefix: `${file.prefix}${suffix}`,
        })),
  )
}

/** Suffixes that may turn some name into a guarded name, if not all file names are known. */
export function riskySuffixes(suffixes: readonly string[], files: readonly Word[]): string[] {
  if (files.every((file) => file.value !== undefined && !file.below)) return []
  return suffixes.filter((suffix) => guardedNames.some((name) => name.endsWith(foldName(suffix))))
}
