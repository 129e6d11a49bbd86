import type { ContextMessage } from "../../src/index.ts"

/**
 * Problems for which a model would refuse a context: a call without exactly one result after it, or a result without
 * its call.
 */
export function contextProblems(messages: readonly ContextMessage[]): string[] {
  const problems: string[] = []
  const seen = new Set<string>()
  let waiting: string[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      const results = message.content.map(({ callID }) => callID)
      if (results.join() !== waiting.join()) problems.push(`${index}: calls ${waiting}, results ${results}`)
      waiting = []
      continue
    }
    if (waiting.length > 0) problems.push(`${index}: calls ${waiting} have no result`)
    waiting = []
    if (message.role !== "assistant") continue
    for (const part of message.content) {
      if (part.type !== "tool-call") continue
      if (seen.has(part.callID)) problems.push(`${index}: ${part.callID} was used before`)
      seen.add(part.callID)
      waiting.push(part.callID)
    }
  }
  if (waiting.length > 0) problems.push(`calls ${waiting} have no result`)
  if (messages.length > 0 && messages[0]!.role !== "user") problems.push("it does not begin with a user")
  return problems
}
