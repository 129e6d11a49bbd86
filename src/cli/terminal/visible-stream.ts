import { shownText } from "./terminal.ts"

const contextUnits = 16

/** What the next bit may still become part of: half of a character, a joiner, an escape sequence that has not ended. */
const unfinished = new RegExp(
  [
    "\\u001b(?:\\[[0-?]{0,32}[ -/]{0,8}|\\][^\\u0007\\u001b]{0,256}\\u001b?)?",
    "\\u200c|\\u200d|\\ufe0e|\\ufe0f|[\\ud800-\\udbff]",
  ]
    .map((one) => `(?:${one})$`)
    .join("|"),
)

const isPlain = /^[\t\n -~]*$/

/** `shownText` for a text that comes bit by bit: what was cut in two is judged as a whole. */
export class VisibleStream {
  #context = ""
  #held = ""

  /** What can be shown now. */
  write(text: string): string {
    const fresh = this.#held + text
    const end = isPlain.test(fresh) ? fresh.length : (unfinished.exec(fresh)?.index ?? fresh.length)
    this.#held = fresh.slice(end)
    return this.#shown(fresh.slice(0, end))
  }

  /** What was held back, when nothing more comes. */
  end(): string {
    const rest = this.#held
    this.#held = ""
    return this.#shown(rest)
  }

  #shown(text: string): string {
    const isEasy = isPlain.test(text)
    const shown = isEasy ? text : shownText(this.#context + text).slice(shownText(this.#context).length)
    this.#context = (this.#context + shown).slice(-contextUnits)
    return shown
  }
}
