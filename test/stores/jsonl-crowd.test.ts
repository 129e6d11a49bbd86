import { join } from "node:path"
import { expect, it } from "vitest"
import { startChild } from "../support/child-process.ts"
import { createOp, JsonlScene, sayOp, sessionID, textOf } from "./jsonl-scene.ts"

it("two processes and a program that takes no lock write to one session, and no line is damaged", async () => {
  await using scene = await JsonlScene.begin()
  const watching = await scene.open()
  await watching.commit({ ops: [createOp(), sayOp("first")] })
  const count = 40
  await using first = start("one")
  await using second = start("two")
  await using stranger = start("stranger")
  for (const child of [first, second, stranger]) expect(await child.ended).toEqual({ code: 0, signal: null })
  for (const child of [first, second, stranger]) expect(child.errors()).toBe("")

  function start(name: string) {
    return startChild("../../stores/jsonl-crowd-child.ts", {
      output: join(scene.directory.path, `output-${name}`),
      args: [scene.directory.path, name, String(count)],
    })
  }

  // Each line of the other program starts a new branch, so the history contains only the messages after the last such
  // line that the store has read. The others are in left tails.
  const { left } = (await watching.session(sessionID)).history
  const reached = [await watching.history(sessionID, { limit: 1000 })]
  for (const { segment } of left)
    reached.push(await watching.history(sessionID, { left: segment, limit: 1000 }))
  const said = new Set(reached.flatMap(({ items }) => items.map(textOf)))
  for (let number = 0; number < count; number++) {
    expect(said).toContain(`one ${number}`)
    expect(said).toContain(`two ${number}`)
  }
  const lines = scene.lines(scene.main())
  expect(lines.filter(({ id }) => String(id).startsWith("stranger"))).toHaveLength(count)
  expect((await watching.check()).problems).toEqual([])
  const before = await watching.history(sessionID, { limit: 1000 })
  await watching.close()
  const again = await scene.open()
  expect(await again.history(sessionID, { limit: 1000 })).toEqual(before)
  expect(scene.warnings).toEqual([])
})
