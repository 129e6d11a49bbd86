import { expect, test } from "vitest"
import type { ModelRequest } from "../../src/index.ts"
import { storeWith } from "../support/run/store-with.ts"
import { runScene, until } from "../support/run-scene.ts"

const textOf = (request: ModelRequest) => {
  const last = request.messages.at(-1)!
  return JSON.stringify(last.content).match(/PROMPT (\w+)/)?.[1]
}

test("a prompt that was admitted first is started first, also before the next prompt of a busy session", async () => {
  const firstAnswer = Promise.withResolvers<void>()
  await using scene = await runScene({
    script: async (request) => {
      if (textOf(request) === "a1") await firstAnswer.promise
      return { text: "Done." }
    },
  })
  // These sessions take all four places of runs that are starting.
  const slow = new Map<string, PromiseWithResolvers<void>>()
  const store = storeWith(scene.stemma.store, {
    async claim(sessionID) {
      await slow.get(sessionID)?.promise
      return scene.stemma.store.claim(sessionID)
    },
  })
  const stemma = await scene.again({ store })
  const begun = () => scene.model.requests.map(textOf)
  const a = await stemma.sessions.create()
  const replies = [a.prompt("PROMPT a1")]
  await until("the first answer has begun", () => begun().length === 1)
  for (let i = 0; i < 4; i++) {
    const session = await stemma.sessions.create()
    slow.set(session.id, Promise.withResolvers())
    const run = session.prompt(`PROMPT slow${i}`)
    await run.admitted
    replies.push(run)
  }
  for (const name of ["b1", "c1"]) {
    const run = (await stemma.sessions.create()).prompt(`PROMPT ${name}`)
    await run.admitted
    replies.push(run)
  }
  // Admitted after b1 and c1, and at least a millisecond later.
  await new Promise((resolve) => setTimeout(resolve, 5))
  const second = a.prompt("PROMPT a2", { delivery: "queue" })
  await second.admitted
  replies.push(second)
  await until("six runs wait to be started", () => stemma.metrics().runs.waiting.place >= 2)
  firstAnswer.resolve()
  await replies[0]
  await until(
    "the busy session waits too, or has gone on",
    () => stemma.metrics().runs.waiting.place >= 3 || begun().includes("a2"),
  )
  // One place becomes free, so the others start one after the other.
  const [one, ...rest] = slow.values()
  one!.resolve()
  await until("the waiting runs have started", () => begun().length === 5)
  for (const { resolve } of rest) resolve()
  await Promise.all(replies)
  const order = begun().filter((name) => name !== undefined && !name.startsWith("slow"))
  expect(order).toEqual(["a1", "b1", "c1", "a2"])
})
