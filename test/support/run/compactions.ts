import type {
  AssistantMessage,
  HistoryItem,
  ScriptedAnswer,
  SessionHandle,
  Tokens,
} from "../../../src/index.ts"
import type { RunScene } from "../run-scene.ts"

/** A meaningless text of about this many tokens. */
export function filler(tokens: number): string {
  return "alpha ".repeat(tokens).trim()
}

/** Adds turns of about this many tokens each; `Question 0` is the first. */
export async function fillTurns(
  session: SessionHandle,
  { turns, tokens = 600, from = 0 }: { turns: number; tokens?: number; from?: number },
): Promise<void> {
  for (let turn = from; turn < from + turns; turn++) {
    await session.append({ role: "user", text: `Question ${turn}: ${filler(tokens)}` })
    await session.append({ role: "assistant", text: `Answer ${turn}.` })
  }
}

/** Adds turns that each have a call with this much output, named `Output 0` and so on. */
export async function fillOutput(
  session: SessionHandle,
  { turns, tokens, tool = "grep", from = 0 }: { turns: number; tokens: number; tool?: string; from?: number },
): Promise<void> {
  for (let turn = from; turn < from + turns; turn++) {
    await session.append({ role: "user", text: `Question ${turn}` })
    await session.append({ role: "tool", tool, output: `Output ${turn}: ${filler(tokens)}` })
    await session.append({ role: "assistant", text: `Answer ${turn}.` })
  }
}

export const summary = "## Goal\nTo be kept in mind."

/** Enough turns for a history that is summarised in pieces. */
export function summaries(answer: Omit<ScriptedAnswer, "for"> = { text: summary }): ScriptedAnswer[] {
  return Array.from({ length: 40 }, () => ({ ...answer, for: "compaction" as const }))
}

export function usage(tokens: Partial<Tokens>): Tokens {
  return { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 }, ...tokens }
}

export function requestsFor(scene: RunScene, purpose: "step" | "compaction") {
  return scene.model.requests.filter((request) => request.purpose === purpose)
}

/** The context of the given step, counted from 0; of the last step by default. */
export function shownIn(scene: RunScene, step = -1): string {
  return JSON.stringify(requestsFor(scene, "step").at(step)!.messages)
}

type CompactionItem = HistoryItem & { message: AssistantMessage }

export function compactionsIn(items: readonly HistoryItem[]): CompactionItem[] {
  return items.filter(
    (item): item is CompactionItem => item.message.role === "assistant" && item.message.summary === true,
  )
}

/** The only compaction part of a message. */
export function compactionPart({ parts }: HistoryItem) {
  const part = parts.find(({ type }) => type === "compaction")
  if (part?.type !== "compaction") throw new Error("The message is no compaction.")
  return part
}

/** The messages that end the answer to a prompt, without the steps before them. */
export function endsOf(items: readonly HistoryItem[], promptID: string): AssistantMessage[] {
  return items.flatMap(({ message }) =>
    message.role === "assistant" &&
    message.parentID === promptID &&
    message.finish !== "tool-calls" &&
    !message.summary
      ? [message]
      : [],
  )
}
