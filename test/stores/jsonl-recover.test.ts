import { cpSync, existsSync, truncateSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { claimed, createOp, JsonlScene, sayOp, texts } from "./jsonl-scene.ts"

const foreignLine = '{"type":"message","message":{"role":"user","content":"between"}}\n'
const foreignHalf = '{"type":"message","message":{"ro'

/** A copy of a store whose process died while it appended its newest message. */
async function deadScene(): Promise<{ scene: JsonlScene; at: number; ours: string; whole: string }> {
  await using living = await JsonlScene.begin()
  const store = await living.open()
  await store.commit({ ops: [createOp(), sayOp("first")] })
  const commit = await claimed(store)
  const before = living.text(living.main())
  await commit(sayOp("second"))
  const whole = living.text(living.main())
  const scene = await JsonlScene.begin()
  cpSync(living.directory.path, scene.directory.path, { recursive: true })
  const at = Buffer.byteLength(before)
  truncateSync(scene.main(), at)
  return { scene, at, ours: whole.slice(before.length), whole }
}

describe("an append that a dead process did not finish", () => {
  it("is completed", async () => {
    const { scene, ours, whole } = await deadScene()
    await using _ = scene
    scene.append(scene.main(), ours.slice(0, 40))
    const store = await scene.open()
    expect(scene.text(scene.main())).toBe(whole)
    expect(await texts(store)).toEqual(["first", "second"])
    expect(scene.warnings).toEqual([])
  })

  it("is completed after a line that another program wrote before it", async () => {
    const { scene, ours } = await deadScene()
    await using _ = scene
    scene.append(scene.main(), foreignLine + ours.slice(0, 40))
    const store = await scene.open()
    expect(scene.text(scene.main()).endsWith(foreignLine + ours)).toBe(true)
    expect(await texts(store)).toContain("second")
    expect((await store.check()).problems).toEqual([])
  })

  it("follows a line of another program that only lacks its line feed", async () => {
    const { scene, ours } = await deadScene()
    await using _ = scene
    scene.append(scene.main(), foreignLine.trimEnd())
    const store = await scene.open()
    expect(scene.text(scene.main()).endsWith(foreignLine + ours)).toBe(true)
    expect(await texts(store)).toContain("second")
    expect((await store.check()).problems).toEqual([])
    expect(existsSync(`${scene.main()}.torn`)).toBe(false)
  })

  it("replaces half a line of another program, which is moved to another file", async () => {
    const { scene, whole } = await deadScene()
    await using _ = scene
    scene.append(scene.main(), foreignHalf)
    const store = await scene.open()
    expect(scene.text(scene.main())).toBe(whole)
    expect(scene.text(`${scene.main()}.torn`)).toBe(`${foreignHalf}\n`)
    expect(scene.warnings).toEqual([expect.stringMatching(/bytes were moved to .*\.torn/)])
    expect(await texts(store)).toEqual(["first", "second"])
  })
})
