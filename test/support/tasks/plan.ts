/**
 * What each prompt of the crash lanes leads to. `manage X` gives eight tasks in one step, `direct X` gives two to
 * agents that give tasks themselves (`lead X.0`), `work X` makes ten calls, and `risk X TOOL` gives one task that kills
 * its process each time, beside one that does not. X separates the sessions and files of the prompts.
 */
export interface GivenTask {
  agent: "worker" | "lead"
  prompt: string
}

export const callsOfWork = 10

export function tasksOf(prompt: string): GivenTask[] {
  const { word, name, rest } = wordsOf(prompt)
  const numbered = (count: number, agent: GivenTask["agent"], what: string): GivenTask[] =>
    Array.from({ length: count }, (_, index) => ({ agent, prompt: `${what} ${name}.${index}` }))
  switch (word) {
    case "manage":
      return numbered(8, "worker", "work")
    case "direct":
      return numbered(2, "lead", "lead")
    case "lead":
      return numbered(2, "worker", "work")
    case "risk":
      return [
        { agent: "worker", prompt: `perish ${name}.0 ${rest}` },
        { agent: "worker", prompt: `work ${name}.1` },
      ]
    default:
      return []
  }
}

export function wordsOf(prompt: string): { word: string; name: string; rest: string } {
  const [word = "", name = "", ...rest] = prompt.split(" ")
  return { word, name, rest: rest.join(" ") }
}

/** The line that a call of `work X` appends to the marks. */
export function markOf(name: string, call: number): string {
  return `${name}#${call}`
}

/** The final text of an agent that gave tasks, made of their results. */
export function endText(prompt: string, results: readonly string[]): string {
  return `end of ${prompt}: ${results.join(", ")}`
}

/** The final text of `work X`. */
export function doneText(name: string): string {
  return `done ${name}`
}
