import { expect, test } from "vitest"
import type { SessionHandle } from "../../src/index.ts"
import { type RunScene, runScene } from "../support/run-scene.ts"

/** A session with an imported history that has a compaction. */
async function compacted(scene: RunScene): Promise<SessionHandle> {
  const session = await scene.stemma.sessions.create()
  await session.append({ role: "user", text: "Long ago." })
  await session.append({ role: "assistant", text: "Answered long ago." })
  const kept = await session.append({ role: "user", text: "Just before." })
  const compaction = {
    type: "compaction" as const,
    auto: false,
    summary: "What was said long ago.",
    ledger: "src/a.ts",
    firstKeptEntryId: kept.message.id,
  }
  await session.append({ role: "assistant", parts: [compaction] })
  return session
}

function shown(scene: RunScene): string {
  return JSON.stringify(scene.model.requests.at(-1)!.messages)
}

test("the context begins at a compaction in an imported history, and the earlier messages stay readable", async () => {
  await using scene = await runScene({ script: () => ({ text: "Done." }) })
  const { id } = await compacted(scene)
  for (const stemma of [scene.stemma, await scene.again()]) {
    const session = await stemma.sessions.get(id)
    await session.prompt("Next")
    for (const text of ["What was said long ago.", "src/a.ts", "Just before."]) {
      expect(shown(scene)).toContain(text)
    }
    expect(shown(scene)).not.toContain("Answered long ago.")
    expect(await session.text()).toContain("Answered long ago.")
  }
})

test("the summary stays in the context, however small maxHistory is", async () => {
  await using scene = await runScene({ script: () => ({ text: "Done." }) })
  const { id } = await compacted(scene)
  await scene.stemma.sessions.update(id, { maxHistory: 2 })
  for (let turn = 0; turn < 4; turn++) {
    const other = await scene.again()
    await (await other.sessions.get(id)).prompt("Next")
    expect(shown(scene)).toContain("What was said long ago.")
    expect(shown(scene)).toContain("src/a.ts")
    await other.close()
  }
})
