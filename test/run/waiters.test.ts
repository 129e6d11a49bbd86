import { describe, expect, test } from "vitest"
import type { AssistantBody, PartBody } from "../../src/protocol/index.ts"
import { continuePrompt } from "../../src/run/context/compaction-message.ts"
import { findAnswer } from "../../src/run/schedule/waiters.ts"
import { createMemoryStore } from "../../src/stores/memory.ts"
import { createSession } from "../stream/scene.ts"
import { sampleIds } from "../support/ids.ts"
import { sampleAssistant, sampleUser } from "../support/samples.ts"

const nowMs = 1_800_000_000_000

/** A history made from words: `prompt`, the finish of an answer, `compaction`, `go on`. */
async function history(...words: string[]) {
  const ids = sampleIds()
  const store = createMemoryStore()
  const sessionID = await createSession(store, ids)
  const { fence } = await store.claim(sessionID)
  const made: string[] = []
  for (const word of words) {
    const id = ids.next("message")
    made.push(id)
    const text = (synthetic?: boolean): PartBody[] => [
      {
        id: ids.next("part"),
        type: "text",
        text: synthetic ? continuePrompt : word,
        ...(synthetic && { synthetic }),
      },
    ]
    const answer = (fields: Partial<AssistantBody>): AssistantBody => ({
      ...sampleAssistant(id, made[0]!, nowMs),
      time: { created: nowMs, completed: nowMs },
      ...fields,
    })
    const message =
      word === "prompt" || word === "go on"
        ? sampleUser(id, nowMs)
        : answer(word === "compaction" ? { summary: true } : { finish: word })
    const parts = word === "compaction" ? [] : text(word === "go on")
    await store.commit({
      ops: [{ op: "message.append", sessionID, message, parts, sealed: true }],
      fences: { [sessionID]: fence },
    })
  }
  const found = async (isOver: boolean) => {
    const answer = await findAnswer(store, sessionID, made[0]!, { isOver })
    return answer && made.indexOf(answer.message.id)
  }
  return { going: await found(false), over: await found(true) }
}

describe("the answer to a prompt", () => {
  test.each([
    [["prompt"], undefined, undefined],
    [["prompt", "tool-calls", "stop"], 2, 2],
    [["prompt", "interrupted"], undefined, 1],
    [["prompt", "interrupted", "stop"], 2, 2],
    [["prompt", "interrupted", "prompt", "stop"], 1, 1],
    [["prompt", "interrupted", "compaction", "go on"], undefined, 1],
    [["prompt", "interrupted", "compaction", "go on", "stop"], 4, 4],
    [["prompt", "interrupted", "compaction", "prompt", "stop"], 1, 1],
    [["prompt", ...Array(97).fill("tool-calls"), "interrupted", "compaction", "go on", "stop"], 101, 101],
    [["prompt", ...Array(98).fill("tool-calls"), "interrupted", "compaction", "prompt", "stop"], 99, 99],
    [["prompt", ...Array(250).fill("tool-calls"), "stop"], 251, 251],
  ])("%#: is the message that no later one continues", async (words, going, over) => {
    expect(await history(...words)).toEqual({ going, over })
  })
})
