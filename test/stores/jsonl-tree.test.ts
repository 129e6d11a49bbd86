import { rmSync } from "node:fs"
import { describe, expect, it } from "vitest"
import type { Session } from "../../src/protocol/index.ts"
import { createOp, JsonlScene, sayOp } from "./jsonl-scene.ts"

const root = "ses_root"
const child = "ses_child"
const leaf = "ses_leaf"
const caller = { messageID: "msg_task", agent: "build", tools: { bash: false } }

const ids = (sessions: Session[]) => sessions.map((session) => session.id)

async function closedTree(): Promise<JsonlScene> {
  const scene = await JsonlScene.begin()
  const store = await scene.open()
  await store.commit({
    ops: [
      createOp(root),
      sayOp("asked", "asked", root),
      createOp(child, { parentID: root, caller }),
      sayOp("told", "told", child),
      createOp(leaf, { parentID: child }),
    ],
  })
  await store.close()
  return scene
}

function stateOf(scene: JsonlScene, id: string): string {
  return scene.main(id).replace(/\.jsonl$/, ".state.jsonl")
}

describe("a tree of jsonl files", () => {
  it("is the same after its index is rebuilt", async () => {
    await using scene = await closedTree()
    rmSync(scene.path("agents/main/sessions/sessions.json"))
    const store = await scene.open()
    expect(ids(await store.tree(root))).toEqual([root, child, leaf])
    expect(ids(await store.parents(leaf))).toEqual([child, root])
    expect((await store.session(child)).caller).toEqual(caller)
  })

  it("ends the chain of parents at a session whose file was removed", async () => {
    await using scene = await closedTree()
    rmSync(scene.main(root))
    rmSync(stateOf(scene, root))
    const store = await scene.open()
    expect(ids(await store.parents(leaf))).toEqual([child])
    expect(await store.parents(child)).toEqual([])
    expect(ids(await store.tree(child))).toEqual([child, leaf])
    await expect(store.tree(root)).rejects.toMatchObject({ code: "not_found" })
  })

  it("lists a parent before its children, even if the parent lost its state file and was imported again", async () => {
    await using scene = await closedTree()
    rmSync(stateOf(scene, root))
    const store = await scene.open()
    await store.commit({ ops: [createOp("ses_late", { parentID: root })] })
    expect(ids(await store.tree(root))).toEqual([root, child, leaf, "ses_late"])
    expect(ids(await store.parents(leaf))).toEqual([child, root])
    expect((await store.remove(root)).sessions).toEqual([root, child, leaf, "ses_late"])
  })

  it("loses a child that lost its state file: that child becomes a root session", async () => {
    await using scene = await closedTree()
    rmSync(stateOf(scene, child))
    const store = await scene.open()
    const { parentID, caller: works } = await store.session(child)
    expect([parentID, works]).toEqual([undefined, undefined])
    expect(ids(await store.tree(root))).toEqual([root])
    expect(ids(await store.parents(leaf))).toEqual([child])
  })

  it("is read without an endless loop if the root was made a child of its leaf", async () => {
    await using scene = await closedTree()
    const [snapshot, ...rest] = scene.lines(stateOf(scene, root))
    const info = { ...(snapshot!.info as object), parentID: leaf }
    scene.write(stateOf(scene, root), [{ ...snapshot, info }, ...rest])
    const store = await scene.open()
    expect((await store.session(root)).parentID).toBe(leaf)
    expect(ids(await store.tree(root))).toEqual([root, child, leaf])
    expect(ids(await store.parents(leaf))).toEqual([child, root])
    expect((await store.changes({ treeID: child })).rows.length).toBeGreaterThan(0)
    expect((await store.remove(root)).sessions).toEqual([root, child, leaf])
  })
})
