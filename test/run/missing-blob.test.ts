import { expect, test } from "vitest"
import { runScene } from "../support/run-scene.ts"

const hash = "0".repeat(64)

test.each([
  ["a file", { type: "file", mime: "text/plain", url: `blob:${hash}` }],
  ["the whole output of something", { type: "text", text: "cut", metadata: { outputBlob: hash } }],
] as const)("%s that is not stored is refused, and nothing is admitted", async (_, part) => {
  await using scene = await runScene({ script: [{ text: "ok" }] })
  const session = await scene.stemma.sessions.create()
  const text = { type: "text", text: "look" } as const
  await expect(session.prompt([text, part])).rejects.toMatchObject({ code: "invalid" })
  await expect(session.append({ role: "user", parts: [text, part] })).rejects.toMatchObject({
    code: "invalid",
  })
  expect(await session.messages()).toEqual([])
  expect((await scene.stemma.store.check()).problems).toEqual([])
})

test("a file that was sent before can be named by its hash", async () => {
  await using scene = await runScene({ script: [{ text: "ok" }] })
  const session = await scene.stemma.sessions.create()
  const stored = await scene.stemma.store.blobs.put(Buffer.from("hello"))
  const reply = await session.prompt([
    { type: "text", text: "look" },
    { type: "file", mime: "text/plain", url: `blob:${stored}` },
  ])
  expect(reply.error).toBeUndefined()
})
