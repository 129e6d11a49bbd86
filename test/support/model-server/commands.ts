import type { AnswerCall, PlainAnswer } from "./answer.ts"
import type { Ending } from "./last-user-text.ts"

export const defaultText = "This is a short answer of the test server."

/**
 * The server's answers without a script. The user's text may be a command: `say 50` (words, one delta each), `say 50
 * every 5` (with this many milliseconds between two deltas), `echo some text`, or lines of `tool NAME
 * {"some":"input"}`.
 */
export function commandAnswer(ending: Ending): PlainAnswer {
  if (ending.kind === "result") return { text: "done" }
  for (const text of ending.texts) {
    const answer = commandIn(text)
    if (answer) return answer
  }
  return { text: defaultText }
}

function commandIn(text: string): PlainAnswer | undefined {
  const say = /^say (\d+)(?: every (\d+))?\s*$/.exec(text)
  if (say) return { text: words(Number(say[1])), ...(say[2] && { tokenDelayMs: Number(say[2]) }) }
  const echo = /^echo ([\s\S]+)$/.exec(text)
  if (echo) return { text: echo[1]! }
  const calls: AnswerCall[] = []
  for (const [, tool, input] of text.matchAll(/^tool (\S+)(?: (.+))?$/gm)) {
    calls.push({ tool: tool!, input: input ?? "{}" })
  }
  return calls.length > 0 ? { calls } : undefined
}

/** The deltas of `say`: `word1`, ` word2`, and so on. */
export function words(count: number): string[] {
  return Array.from({ length: count }, (_, i) => (i === 0 ? "word1" : ` word${i + 1}`))
}

/** The number in a plain `say N`, whose whole stream is cached. */
export function plainSay(ending: Ending): number | undefined {
  if (ending.kind !== "user" || ending.texts.length !== 1) return undefined
  const match = /^say (\d+)\s*$/.exec(ending.texts[0]!)
  return match ? Number(match[1]) : undefined
}
