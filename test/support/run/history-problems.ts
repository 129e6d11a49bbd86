import { readFileSync } from "node:fs"
import {
  type AssistantMessage,
  type HistoryItem,
  isSettled,
  type PartOf,
  type Session,
} from "../../../src/index.ts"
import type { Ran } from "./tools.ts"

export function ranCalls(path: string): Ran[] {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Ran)
  } catch {
    return []
  }
}

/** Finds problems in a history in which nothing runs any more. */
export function historyProblems(
  items: readonly HistoryItem[],
  { session, ran }: { session: Session; ran: readonly Ran[] },
): string[] {
  return [
    ...items.flatMap((item) => (item.sealed ? [] : [`${item.message.id} is open`])),
    ...callProblems(items, ran),
    ...promptProblems(items),
    ...moneyProblems(items, session),
  ]
}

function callProblems(items: readonly HistoryItem[], ran: readonly Ran[]): string[] {
  const problems: string[] = []
  const calls = toolParts(items)
  const ids = calls.map(({ callID }) => callID)
  if (new Set(ids).size < ids.length) problems.push("a call is there twice")
  for (const { callID, tool, state } of calls) {
    const runs = ran.filter((one) => one.callID === callID).length
    if (!isSettled(state)) problems.push(`${callID} of ${tool} is ${state.status}`)
    if (state.status === "completed" && runs === 0) problems.push(`${callID} of ${tool} never ran`)
    if (tool !== "look" && tool !== "die" && runs > 1) problems.push(`${callID} of ${tool} ran ${runs} times`)
  }
  return problems
}

export function toolParts(items: readonly HistoryItem[]): PartOf<"tool">[] {
  return items.flatMap(({ parts }) => parts).filter((part) => part.type === "tool")
}

/** Every prompt occurs once, and its answers are steps that continue, then one that ends the turn. */
function promptProblems(items: readonly HistoryItem[]): string[] {
  const problems: string[] = []
  const prompts = items.filter(({ message }) => message.role === "user")
  if (new Set(prompts.map(({ message }) => message.id)).size < prompts.length) {
    problems.push("a prompt is there twice")
  }
  for (const [index, prompt] of prompts.entries()) {
    const to = prompts[index + 1]?.position ?? Number.POSITIVE_INFINITY
    const answers = items
      .filter(({ position }) => position > prompt.position && position < to)
      .map(({ message }) => message as AssistantMessage)
    const finishes = answers.map(({ finish }) => finish)
    const isWhole =
      answers.every(({ parentID }) => parentID === prompt.message.id) &&
      finishes.slice(0, -1).every((finish) => finish === "tool-calls" || finish === "interrupted") &&
      finishes.at(-1) !== undefined &&
      finishes.at(-1) !== "tool-calls"
    if (!isWhole) problems.push(`${prompt.message.id} was answered with ${finishes.join(", ") || "nothing"}`)
  }
  return problems
}

function moneyProblems(items: readonly HistoryItem[], session: Session): string[] {
  const problems: string[] = []
  const answers = items.flatMap(({ message }) => (message.role === "assistant" ? [message] : []))
  const cost = answers.reduce((sum, message) => sum + message.cost, 0)
  const output = answers.reduce((sum, message) => sum + message.tokens.output, 0)
  if (Math.abs(cost - session.cost) > 1e-9)
    problems.push(`cost is ${session.cost}, of the answers it is ${cost}`)
  if (output !== session.tokens.output) {
    problems.push(`output is ${session.tokens.output} tokens, of the answers it is ${output}`)
  }
  for (const { message, parts } of items) {
    if (message.role !== "assistant" || message.tokens.output === 0) continue
    const counted = parts.filter((part) => part.type === "step-finish").map((part) => part.cost)
    if (counted.length !== 1 || counted[0] !== message.cost)
      problems.push(`${message.id} is counted ${counted}`)
  }
  return problems
}
