import type { Outcome } from "./phrasings/phrasing.ts"
import type { ClosedTodo, GeneratedSession, PlantedFact } from "./session.ts"

/** The words of one fact may be this far apart, or anywhere on one line. */
const nearCharacters = 240

const outcomes: Record<Outcome, RegExp> = {
  ok: /(?<![\w-])(?:ok|exit(?:s|ed)?(?: with)?(?: code)?:? ?0|green|pass(?:ed|es|ing)?|succe\w+|successfully|0 (?:failed|failures))(?!\w)|[✓✔]|成功|通过|退出码[是为]? ?0/i,
  failed:
    /(?<![\w-])(?:fail\w*|error\w*|exit(?:s|ed)?(?: with)?(?: code)?:? ?[1-9]\d*|code [1-9]\d*)(?!\w)|[✗✘✖]|失败|报错|出错|退出码[是为]? ?[1-9]/i,
  timeout: /tim(?:ed?|eout)[ -]?(?:out|limit)?|ended after|超时|fail\w*/i,
}

export interface Checked {
  /** The facts in hidden messages. */
  due: PlantedFact[]
  lost: PlantedFact[]
  /** Closed todos that the ledger lists as open. */
  stale: ClosedTodo[]
  /** The number of closed todos in hidden messages. */
  over: number
}

/** Compares a ledger with the facts and todos of the first `hidden` messages. */
export function checkLedger(
  session: GeneratedSession,
  { text, hidden }: { text: string; hidden: number },
): Checked {
  const ledger = plain(text)
  const due = session.facts.filter(({ at }) => at >= 0 && at < hidden)
  const over = session.closed.filter(({ at }) => at < hidden)
  return {
    due,
    lost: due.filter((fact) => !isKept(fact, ledger)),
    stale: over.filter(({ content }) => isListedOpen(plain(content), ledger)),
    over: over.length,
  }
}

function isKept({ kind, keep, outcome }: PlantedFact, ledger: string): boolean {
  const wanted = keep.map((alternatives) => alternatives.map(plain))
  // Paths and identifiers have a meaning on their own, so they need not be near one another.
  if (kind === "file" || kind === "identifier") return wanted.every((words) => isSaid(words, ledger))
  const [first, ...others] = wanted
  return first!.some((word) =>
    indexesOf(word, ledger).some((at) => {
      const around = surroundings(ledger, { at, length: word.length })
      if (!others.every((words) => isSaid(words, around))) return false
      return outcome === undefined || outcomes[outcome].test(lineAt(ledger, at).replaceAll(word, " "))
    }),
  )
}

function isSaid(words: readonly string[], text: string): boolean {
  return words.some((word) => indexesOf(word, text).length > 0)
}

function isListedOpen(content: string, ledger: string): boolean {
  return indexesOf(content, ledger).some(
    (at) => !/complete|done|cancel|closed|完成|取消/.test(lineAt(ledger, at)),
  )
}

/** Makes two texts comparable: removes quotes, case and differences in white space. */
function plain(text: string): string {
  return text
    .replaceAll("`", "")
    .replace(/[^\S\n]+/g, " ")
    .toLowerCase()
}

/** The indexes at which a text occurs as a whole word or number; a `v` before a version number is allowed. */
function indexesOf(word: string, text: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const before = /[^a-z0-9]v$/.test(text.slice(at - 2, at)) ? "" : text[at - 1]
    if (isPiece(before, word[0]) || isPiece(text[at + word.length], word.at(-1))) continue
    places.push(at)
  }
  return places
}

function isPiece(outside: string | undefined, inside: string | undefined): boolean {
  return /[a-z0-9]/.test(outside ?? "") && /[a-z0-9]/.test(inside ?? "")
}

function lineAt(text: string, at: number): string {
  const end = text.indexOf("\n", at)
  return text.slice(text.lastIndexOf("\n", at - 1) + 1, end < 0 ? text.length : end)
}

function surroundings(text: string, { at, length }: { at: number; length: number }): string {
  const line = lineAt(text, at)
  return `${line}\n${text.slice(Math.max(0, at - nearCharacters), at + length + nearCharacters)}`
}
