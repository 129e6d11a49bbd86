import { expect, test } from "vitest"
import { data, opencodeScene } from "../support/server/opencode-scene.ts"

const write = (content: string) => ({
  calls: [{ tool: "write", input: { filePath: "a.txt", content } }],
})

test("after a stepwise undo and redo, the session has its diff and its summary again", async () => {
  await using scene = await opencodeScene({
    git: true,
    script: [write("first\n"), { text: "Made." }, write("first\nsecond\n"), { text: "Changed." }],
  })
  const { client, directory } = scene
  const { id: sessionID } = await data(client.session.create({ directory }))
  for (const text of ["Make it", "Change it"])
    await data(client.session.prompt({ directory, sessionID, parts: [{ type: "text", text }] }))
  const state = async () => ({
    diff: await data(client.session.diff({ directory, sessionID })),
    summary: (await data(client.session.get({ directory, sessionID }))).summary,
  })
  const whole = await state()
  expect(whole.summary).toMatchObject({ additions: 2, deletions: 0, files: 1 })
  const items = await data(client.session.messages({ directory, sessionID }))
  const [first, second] = items.filter(({ info }) => info.role === "user").map(({ info }) => info.id)
  const undo = (messageID: string) => data(client.session.revert({ directory, sessionID, messageID }))
  await undo(second!)
  const half = await state()
  expect(half.summary).toMatchObject({ additions: 1, deletions: 0, files: 1 })
  await undo(first!)
  expect((await state()).diff).toEqual([])
  await undo(second!)
  expect(await state()).toEqual(half)
  await data(client.session.unrevert({ directory, sessionID }))
  expect(await state()).toEqual(whole)
})
