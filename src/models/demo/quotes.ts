const opener = "\uE000"
const firstMark = 0xe100
const quotesMax = 256

/** The placeholder of a quoted text in clauses and rules: two characters of the private use area. */
export const quotedToken = `${opener}[\\uE100-\\uE1FF]`

/** True if the text is exactly one placeholder. */
export function isQuoted(text: string): boolean {
  return /^\uE000[\uE100-\uE1FF]$/.test(text)
}

const quoted =
  /```(?:\w*\n)?([\s\S]*?)```|`([^`\n]+)`|"([^"\n]*)"|“([^”]*)”|「([^」]*)」|『([^』]*)』|(?<![\p{L}\d])'([^'\n]*)'(?![\p{L}\d])/gu

export interface HiddenQuotes {
  text: string
  /** Replaces placeholders by the quoted texts, without the quotation marks. */
  plain(text: string): string
  /** Replaces placeholders by the quoted texts, with the quotation marks. */
  whole(text: string): string
}

/** Replaces quoted texts by placeholders, so that no rule matches words inside quotation marks. */
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
