const opener = "\uE000"
const firstMark = 0xe100
const quotesMax = 256

/** A quoted text, as it stands in clauses and rules: two characters without a meaning. */
export const quotedToken = `${opener}[\\uE100-\\uE1FF]`

/** True for a quoted text and nothing beside it. */
export function isQuoted(text: string): boolean {
  return /^\uE000[\uE100-\uE1FF]$/.test(text)
}

const quoted =
  /```(?:\w*\n)?([\s\S]*?)```|`([^`\n]+)`|"([^"\n]*)"|“([^”]*)”|「([^」]*)」|『([^』]*)』|(?<![\p{L}\d])'([^'\n]*)'(?![\p{L}\d])/gu

export interface HiddenQuotes {
  text: string
  /** Puts back what was quoted, without the quotes. */
  plain(text: string): string
  /** Puts it back as it was written. */
  whole(text: string): string
}

/** Hides what is quoted from rules, which would see words of theirs in it. */
export function hideQuotes(original: string): HiddenQuotes {
  const inside: string[] = []
  const outside: string[] = []
  const text = original.replace(/[\uE000-\uE1FF]/g, "").replace(quoted, (whole, ...groups: unknown[]) => {
    if (inside.length === quotesMax) return whole
    outside.push(whole)
    inside.push(groups.find((group): group is string => typeof group === "string") ?? "")
    return opener + String.fromCharCode(firstMark + inside.length - 1)
  })
  const back = (from: string, texts: string[]) =>
    from.replace(/\uE000([\uE100-\uE1FF])/g, (_, mark: string) => texts[mark.charCodeAt(0) - firstMark] ?? "")
  return { text, plain: (from) => back(from, inside), whole: (from) => back(from, outside) }
}
