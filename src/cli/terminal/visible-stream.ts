import { printableText } from "./terminal.ts"

const contextUnits = 16

/** An end of text that the next piece may continue: half of a character, a joiner, an incomplete escape sequence. */
const unfinished = new RegExp(
  [
    "\\u001b(?:\\[[0-?]{0,32}[ -/]{0,8}|\\][^\\u0007\\u001b]{0,256}\\u001b?)?",
    "\\u200c|\\u200d|\\ufe0e|\\ufe0f|[\\ud800-\\udbff]",
  ]
    .map((one) => `(?:${one})$`)
    .join("|"),
)

const isPlain = /^[\t\n -~]*$/

/**
 * `printableText` for a text that arrives piece by piece: an escape sequence that is split between two pieces is
 * removed too.
 */
export class VisibleStream {
  #context = ""
  #held = ""

  /** Returns the text that can be printed now. */
  write(text: string): string {
    const fresh = this.#held + text
    const end = isPlain.test(fresh) ? fresh.length : (unfinished.exec(fresh)?.index ?? fresh.length)
    this.#held = fresh.slice(end)
    return this.#printable(fresh.slice(0, end))
  }

  /** Returns the text that was held back, when no more text follows. */
  end(): string {
    const rest = this.#held
    this.#held = ""
    return this.#printable(rest)
  }

  #printable(text: string): string {
    const isEasy = isPlain.test(text)
    const shown = isEasy
      ? text
      : printableText(this.#context + text).slice(printableText(this.#context).length)
    this.#context = (this.#context + shown).slice(-contextUnits)
    return shown
  }
}
