import { expect, test } from "vitest"
import { partsOf, runScene } from "../support/run-scene.ts"

test("a clock that runs backwards does not change the order of prompts, answers and context", async () => {
  let now = 1_800_000_000_000
  await using scene = await runScene({
    // Ids begin with the time, so their order runs backwards too.
    clock: { now: () => (now -= 1000) },
    script: (request, n) => {
      if (n % 2 === 0) return { text: `Step ${n}.`, calls: [{ tool: "list", input: {} }] }
      const said = request.messages.flatMap(({ content }) =>
        content.flatMap((part) => (part.type === "text" ? [part.text] : [])),
      )
      return { text: `Heard ${said.join(" ")}` }
    },
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("One")
  const runs = ["Two", "Three", "Four"].map((text) => session.prompt(text, { delivery: "queue" }))
  for (const run of runs) await run
  const heard: string[] = []
  const other = await scene.again()
  for (const stemma of [scene.stemma, other]) {
    const items = await (await stemma.sessions.get(session.id)).messages()
    heard.push(
      partsOf(items, "text")
        .map(({ text }) => text.split(" ").slice(0, 2).join(" "))
        .join(", "),
    )
  }
  const turn = (text: string, n: number) => `${text}, Step ${n}., Heard One`
  const expected = ["One", "Two", "Three", "Four"].map((text, index) => turn(text, 2 * index)).join(", ")
  expect(heard).toEqual([expected, expected])
  const last = scene.model.requests.at(-1)!.messages
  const prompts = last.flatMap(({ role, content }) =>
    role === "user" ? content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
  )
  expect(prompts).toEqual(["One", "Two", "Three", "Four"])
})
