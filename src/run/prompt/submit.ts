import type { HistoryItem } from "../../protocol/index.ts"
import type { Coordinator } from "../schedule/coordinator.ts"
import { findAnswer } from "../schedule/waiters.ts"
import type { Prompt } from "../step/step.ts"
import { admitPrompt } from "./prompt.ts"

/** Puts a prompt into the inbox of its session. On return the prompt is durable; no run has been started for it yet. */
export async function submit(
  { engine: { store, tracing } }: Coordinator,
  prompt: Prompt,
  options: { isNamed: boolean },
): Promise<{ isDuplicate: boolean }> {
  const loading = tracing.prepare()
  if (loading) await loading
  tracing.keep(prompt.id)
  return admitPrompt(store, prompt, options)
}

/**
 * Starts a run for a submitted prompt and waits for the message that ends its answer, whichever process writes it. `isOld`:
 * the message was in the history before.
 */
export async function answerTo(
  coordinator: Coordinator,
  { id, sessionID }: { id: string; sessionID: string },
  { isDuplicate }: { isDuplicate: boolean },
): Promise<{ item: HistoryItem; isOld: boolean }> {
  const { store } = coordinator.engine
  const known = isDuplicate ? await findAnswer(store, sessionID, id) : undefined
  if (known) return { item: known, isOld: true }
  // An answer that was cut off may be continued by this run, or stay as it is.
  const cutOff = isDuplicate ? await findAnswer(store, sessionID, id, { isOver: true }) : undefined
  const answer = coordinator.waiters.add(sessionID, id)
  coordinator.wake(sessionID)
  const item = await answer
  return { item, isOld: item.message.id === cutOff?.message.id }
}
