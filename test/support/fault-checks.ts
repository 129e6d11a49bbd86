import { expect } from "vitest"
import { costOf } from "../../src/index.ts"
import { type Asked, cost, type FaultScene } from "./fault-scene.ts"
import type { Answer, FaultName, StreamFault } from "./model-server/server.ts"

export const usage = { input: 100, output: 20, reasoning: 0, cache: { read: 0, write: 0 } }
export const good: Answer = { text: "A good answer.", usage }

/**
 * A fault after some words of an answer, slow enough that a subscriber has received the first words before it happens.
 */
export function faultAfterWords(fault: FaultName, over: Partial<StreamFault> = {}): StreamFault {
  const text = "Those words must vanish from everywhere."
  return { fault, text, usage, afterDeltas: 4, tokenDelayMs: 50, ...over }
}

/** Fails unless a subscriber received the words if `wasSeen`, and no part of them is stored or sent. */
export async function expectLost(
  scene: FaultScene,
  asked: Asked,
  options: { wasSeen: boolean },
): Promise<void> {
  const received = asked.events.flatMap(({ event }) => {
    if (event.type === "message.part.delta") return [event.properties.delta]
    const part = event.type === "message.part.updated" ? event.properties.part : undefined
    return part?.type === "text" ? [part.text] : []
  })
  expect(received.join("").includes("Those")).toBe(options.wasSeen)
  expect(JSON.stringify(asked.replica.parts)).not.toContain("Those")
  expect(JSON.stringify(await scene.session.messages())).not.toContain("Those")
  for (const { bytes } of scene.server.requests) expect(bytes.includes("Those")).toBe(false)
}

/** Fails unless the session was charged for exactly this number of answers with that usage. */
export async function expectPaid(scene: FaultScene, answers: number): Promise<void> {
  const { tokens, cost: paid } = await scene.session.info()
  expect(tokens).toEqual({ ...usage, input: usage.input * answers, output: usage.output * answers })
  expect(paid).toBeCloseTo(costOf(usage, cost) * answers, 10)
}
