/** A word of a command as it is written, with its quotes. */
export interface CommandWord {
  text: string
  start: number
}

/** How much of a command is read. */
const commandUnitsMax = 2000
const wordsMax = 80

const blanks = /(?:[ \t]|\\\r?\n|\\\\\\n)*/y

/** The words of the command that begins at `from`, up to the end of the line or to `;`, `|` or `&`. */
export function commandAt(text: string, from: number): { words: CommandWord[]; end: number } {
  const line = text.slice(from, from + commandUnitsMax)
  const words: CommandWord[] = []
  let at = 0
  while (words.length < wordsMax) {
    blanks.lastIndex = at
    at += blanks.exec(line)![0].length
    const end = wordEnd(line, at)
    if (end === at) break
    words.push({ text: line.slice(at, end), start: from + at })
    at = end
  }
  return { words, end: from + Math.max(at, 1) }
}

/** Where the word ends that begins at `at`. A quote that is not closed ends the command. */
function wordEnd(line: string, at: number): number {
  let end = at
  while (end < line.length) {
    const sign = line[end]!
    if (/[\s;|&\x60]/.test(sign)) return end
    if (sign === "'" || sign === '"') {
      const closing = line.indexOf(sign, end + 1)
      if (closing < 0 || line.slice(end, closing).includes("\n")) return end
      end = closing + 1
    } else if (sign === "\\") {
      const next = line[end + 1] ?? ""
      if (next === "" || next === "\n" || next === "\r") return end
      if (next === "n" && line[end - 1] !== "\\") return end
      const closing = next === '"' || next === "'" ? line.indexOf(`\\${next}`, end + 2) : -1
      end = closing < 0 ? end + 2 : closing + 2
    } else end++
  }
  return Math.min(end, line.length)
}
