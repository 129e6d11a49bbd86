import { expect, test } from "vitest"
import { partsOf, runScene } from "../support/run-scene.ts"

test("the whole output behind a cut one survives a garbage collection", async () => {
  const command = "seq 1 20000"
  await using scene = await runScene({
    script: [{ calls: [{ tool: "bash", input: { command } }] }, { text: "Counted." }],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt(`Count, and compare with !\`${command}\``)
  const messages = await session.messages()
  const [call] = partsOf(messages, "tool")
  const note = partsOf(messages, "text").find(({ metadata }) => metadata?.outputBlob !== undefined)
  const named = [call!.state.status === "completed" && call!.state.outputBlob, note?.metadata?.outputBlob]
  await scene.stemma.store.collect({ blobAgeMs: 0 })
  for (const url of named) {
    const bytes = await scene.stemma.store.blobs.get(String(url).slice("blob:".length))
    expect(Buffer.from(bytes).toString()).toContain("\n20000\n")
  }
})
