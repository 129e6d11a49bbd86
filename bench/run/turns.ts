import { setImmediate } from "node:timers/promises"
import type { SessionHandle, Stemma } from "../../src/index.ts"

export const prompt = "say 50"

/** Ticks in which a run does its deferred work. */
const deferredTicks = 3

/** One turn, from the prompt to the reply. */
export async function turn(session: SessionHandle, text = prompt): Promise<void> {
  const reply = await session.prompt(text)
  if (reply.error || reply.text === "") throw new Error(`A turn failed: ${JSON.stringify(reply.error)}`)
}

export async function turns(session: SessionHandle, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn(session)
}

/** Waits until nothing runs, so that the work of a run after its reply does not count to the next timing. */
export async function untilIdle(stemma: Stemma, ...sessions: SessionHandle[]): Promise<void> {
  for (const { id } of sessions) while (stemma.status(id).type !== "idle") await setImmediate()
}

/**
 * As `untilIdle`, and also waits for deferred work. Without a pause, because a core that was idle for a few
 * milliseconds is slower after it.
 */
export async function calm(stemma: Stemma, ...sessions: SessionHandle[]): Promise<void> {
  await untilIdle(stemma, ...sessions)
  for (let i = 0; i < deferredTicks; i++) await setImmediate()
}
