import { expect, test } from "vitest"
import { data, opencodeScene } from "../support/server/opencode-scene.ts"
import { answersTo, task } from "../support/task-script.ts"

/** OpenCode's programs keep messages and parts sorted by id. */
const byID = <T extends { id: string }>(list: readonly T[]) =>
  list.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))

const read = (filePath: string) => ({ tool: "read", input: { filePath } })

test("a client that sorts messages and parts by id has them in the order of the history", async () => {
  await using scene = await opencodeScene({
    git: true,
    files: { "a.txt": "a\n" },
    script: answersTo({
      "Read it": [
        { reasoning: "Hm.", text: "I look.", calls: [read("a.txt"), read("b.txt"), read("c.txt")] },
        { calls: [{ tool: "write", input: { filePath: "d.txt", content: "d\n" } }, task("Look around")] },
        { text: "Done." },
      ],
      "Look around": [{ text: "Nothing here." }],
      "Go on": [{ text: "Gone on." }],
    }),
  })
  const { client, directory } = scene
  const { id: sessionID } = await data(client.session.create({ directory }))
  const text = (words: string) => [{ type: "text" as const, text: words }]
  for (let turn = 0; turn < 5; turn++) {
    await data(client.session.shell({ directory, sessionID, agent: "build", command: "echo hello" }))
    await data(client.session.prompt({ directory, sessionID, parts: text("Read it") }))
    const parts = [...text("one"), ...text("two"), ...text("three")]
    await data(client.session.prompt({ directory, sessionID, noReply: true, parts }))
    // The terminal program makes its own ids, which begin with the time in hex.
    const messageID = `msg_1f3a9c7b2d${turn}0AbCdEfGhIjKlMn`
    await data(client.session.prompt({ directory, sessionID, messageID, parts: text("Go on") }))
  }
  const items = await data(client.session.messages({ directory, sessionID }))
  expect(items.length).toBeGreaterThan(25)
  const infos = items.map(({ info }) => info)
  expect(byID(infos).map(({ id }) => id)).toEqual(infos.map(({ id }) => id))
  for (const { parts } of items) expect(byID(parts).map(({ id }) => id)).toEqual(parts.map(({ id }) => id))
})
