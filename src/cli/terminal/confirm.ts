import { once } from "node:events"
import { createInterface } from "node:readline/promises"
import type { Terminal } from "./terminal.ts"

/** Asks a question on the terminal. False without a terminal: then the hint says what to do. */
export async function isYes(
  question: string,
  terminal: Terminal,
  { hint }: { hint: string },
): Promise<boolean> {
  if (!terminal.input.isTTY || terminal.input.readableEnded) {
    terminal.error.write(hint)
    return false
  }
  const lines = createInterface({ input: terminal.input, output: terminal.output })
  try {
    // Closing the terminal counts as no.
    const closed = once(lines, "close").then(() => "")
    return /^y(es)?$/i.test((await Promise.race([lines.question(question), closed])).trim())
  } finally {
    lines.close()
  }
}
