import assert from "node:assert/strict"
import type { Caller, Session } from "../../../protocol/index.ts"
import type { Op } from "../../commit.ts"
import { failsWith, promised, type Scene } from "../scene.ts"

const ids = (sessions: Session[]) => sessions.map((session) => session.id)

function createOp(scene: Scene, fields: Parameters<Scene["session"]>[0]): Op & { op: "session.create" } {
  return { op: "session.create", session: scene.make.session(fields), segment: scene.make.id("segment") }
}

/** Creates a session without claiming it and returns its id. */
async function create(scene: Scene, fields: Parameters<Scene["session"]>[0] = {}): Promise<string> {
  const op = createOp(scene, fields)
  await scene.store.commit({ ops: [op] })
  return op.session.id
}

function callerOf(scene: Scene, fields: Partial<Caller> = {}): Caller {
  return { messageID: scene.make.id("message"), agent: "build", ...fields }
}

export const treeCases = [
  promised("a tree is the session and its descendants in order of creation, parents first", async (scene) => {
    const { store } = scene
    const root = await create(scene)
    const other = await create(scene)
    const a = await create(scene, { parentID: root, time: { created: 9, updated: 9 } })
    const b = await create(scene, { parentID: root, time: { created: 5, updated: 5 } })
    const a1 = await create(scene, { parentID: a, time: { created: 1, updated: 1 } })
    const ofOther = await create(scene, { parentID: other })
    const b1 = await create(scene, { parentID: b })
    const a2 = await create(scene, { parentID: a })
    const a11 = await create(scene, { parentID: a1 })
    await store.commit({ ops: [{ op: "session.patch", sessionID: root, set: { time: { updated: 1e12 } } }] })
    assert.deepEqual(ids(await store.tree(root)), [root, a, b, a1, b1, a2, a11])
    assert.deepEqual(ids(await store.tree(a)), [a, a1, a2, a11])
    assert.deepEqual(ids(await store.tree(a11)), [a11])
    assert.deepEqual(ids(await store.tree(other)), [other, ofOther])
  }),

  promised("the parents of a session are its ancestors, nearest first", async (scene) => {
    const { store } = scene
    const chain = [await create(scene)]
    for (let depth = 1; depth < 8; depth++) {
      chain.push(await create(scene, { parentID: chain.at(-1)! }))
      await create(scene, { parentID: chain[0]! })
    }
    assert.deepEqual(ids(await store.parents(chain.at(-1)!)), chain.slice(0, -1).toReversed())
    assert.deepEqual(ids(await store.parents(chain[1]!)), [chain[0]])
    assert.deepEqual(await store.parents(chain[0]!), [])
  }),

  promised("tree() and parents() return sessions as session() does", async (scene) => {
    const { store } = scene
    const fields = { agent: "build", model: { providerID: "p", modelID: "m" }, budget: 2, maxHistory: 9 }
    const root = await scene.session({ ...fields, key: "k", permission: [] })
    await root.say("a")
    const child = await scene.session({ parentID: root.id, caller: callerOf(scene) })
    await child.commit({ op: "session.patch", sessionID: child.id, add: { cost: 0.5 } })
    const leaf = await scene.session({ parentID: child.id })
    const all = [await root.info(), await child.info(), await leaf.info()]
    assert.deepEqual(await store.tree(root.id), all)
    assert.deepEqual(await store.parents(leaf.id), [all[1], all[0]])
    const [mine] = await store.tree(child.id)
    mine!.caller!.agent = "changed by a reader"
    assert.deepEqual(await child.info(), all[1])
  }),

  promised(
    "tree() and parents() of a missing, removed or unpublished session fail with not_found",
    async (scene) => {
      const { store, make } = scene
      const removed = await create(scene)
      await store.remove(removed)
      const importing = { ...createOp(scene, {}), importing: true }
      await store.commit({ ops: [importing] })
      for (const id of [make.id("session"), removed, importing.session.id, "no id"]) {
        await failsWith("not_found", store.tree(id))
        await failsWith("not_found", store.parents(id))
      }
    },
  ),

  promised("a tree includes an imported child after it is published", async (scene) => {
    const { store } = scene
    const root = await create(scene)
    const importing = { ...createOp(scene, { parentID: root }), importing: true }
    await store.commit({ ops: [importing] })
    const child = await create(scene, { parentID: root })
    const sessionID = importing.session.id
    assert.deepEqual(ids(await store.tree(root)), [root, child])
    await failsWith("not_found", store.parents(sessionID))
    await store.commit({ ops: [{ op: "session.publish", sessionID }] })
    assert.deepEqual(ids(await store.tree(root)), [root, sessionID, child])
    assert.deepEqual(ids(await store.parents(sessionID)), [root])
  }),

  promised("a removed branch disappears from its tree, and the rest stays", async (scene) => {
    const { store } = scene
    const root = await create(scene)
    const gone = await create(scene, { parentID: root })
    await create(scene, { parentID: gone })
    const stays = await create(scene, { parentID: root })
    await store.remove(gone)
    assert.deepEqual(ids(await store.tree(root)), [root, stays])
    assert.deepEqual(ids(await store.parents(stays)), [root])
  }),

  promised("a tree may have thousands of sessions and hundreds of levels", async (scene) => {
    const { store } = scene
    const root = createOp(scene, {})
    const made = [root]
    for (let i = 1; i < 2000; i++) {
      // A chain of two hundred sessions; all other sessions are children of these.
      const parent = i < 200 ? made[i - 1]! : made[i % 200]!
      made.push(createOp(scene, { parentID: parent.session.id }))
    }
    for (let from = 0; from < made.length; from += 1000) {
      await store.commit({ ops: made.slice(from, from + 1000) })
    }
    const expected = made.map((op) => op.session.id)
    assert.deepEqual(ids(await store.tree(root.session.id)), expected)
    assert.deepEqual(ids(await store.parents(expected[399]!)), expected.slice(0, 200).toReversed())
  }),

  promised("a child stores its caller, and a patch replaces the caller as a whole", async (scene) => {
    const { store, make } = scene
    const parent = await scene.session()
    const caller = callerOf(scene, { tools: { bash: false, "*": true } })
    const child = await scene.session({ parentID: parent.id, caller })
    assert.deepEqual((await child.info()).caller, caller)
    const patch = (set: (Op & { op: "session.patch" })["set"]) =>
      store.commit({ ops: [{ op: "session.patch", sessionID: child.id, set }] })
    await patch({ title: "other" })
    assert.deepEqual((await child.info()).caller, caller)
    const next = callerOf(scene, { agent: "plan" })
    const cursor = await store.cursor()
    await patch({ caller: next })
    assert.deepEqual((await child.info()).caller, next)
    const [row] = await scene.rows({ sessionID: child.id }, cursor)
    assert.deepEqual(row?.type === "session" && row.session.caller, next)
    await patch({ caller: null })
    assert.ok(!("caller" in (await child.info())))
    assert.ok(!("caller" in (await parent.info())))
    for (const wrong of [{}, { agent: "build" }, { messageID: make.id("session"), agent: "build" }]) {
      await failsWith("invalid", patch({ caller: wrong as unknown as Caller }))
    }
  }),

  promised("a fork of a child is a root session without a caller", async (scene) => {
    const parent = await scene.session()
    const child = await scene.session({ parentID: parent.id, caller: callerOf(scene) })
    await child.say("a")
    const fork = await scene.fork(child.id)
    const info = await fork.info()
    assert.ok(!("parentID" in info) && !("caller" in info))
    assert.deepEqual(await scene.store.parents(fork.id), [])
    assert.deepEqual(ids(await scene.store.tree(parent.id)), [parent.id, child.id])
  }),

  promised(
    "a fork of a child may be the child of another session, with its own permissions",
    async (scene) => {
      const { store, make } = scene
      const deny = [{ permission: "edit", pattern: "*", action: "deny" as const }]
      const [parent, other] = [await scene.session(), await scene.session()]
      const model = { providerID: "p", modelID: "m" }
      const source = await scene.session({
        parentID: parent.id,
        caller: callerOf(scene),
        agent: "build",
        model,
        permission: [],
      })
      await source.sayAll("a", "b")
      const own = {
        parentID: other.id,
        caller: callerOf(scene, { agent: "plan", tools: { task: true } }),
        agent: "explore",
        model: { providerID: "p", modelID: "other" },
        permission: deny,
      }
      const fork = await scene.fork(source.id, { fields: own })
      const { parentID, caller, agent, model: its, permission, forkedFrom } = await fork.info()
      assert.deepEqual({ parentID, caller, agent, model: its, permission }, own)
      assert.deepEqual(forkedFrom, { sessionID: source.id })
      await fork.say("c")
      assert.deepEqual(await fork.texts(), ["a", "b", "c"])
      assert.deepEqual(ids(await store.parents(fork.id)), [other.id])
      assert.deepEqual(ids(await store.tree(other.id)), [other.id, fork.id])
      assert.deepEqual(ids(await store.tree(parent.id)), [parent.id, source.id])
      await store.remove(parent.id)
      assert.deepEqual(await fork.texts(), ["a", "b", "c"])
      assert.deepEqual(ids(await store.tree(other.id)), [other.id, fork.id])
      await failsWith("not_found", scene.fork(fork.id, { fields: { parentID: make.id("session") } }))
      await failsWith("not_found", scene.fork(fork.id, { fields: { parentID: parent.id } }))
    },
  ),

  promised("a parent, a child and a fork of the child may be created in one commit", async (scene) => {
    const { store, make } = scene
    const source = await scene.session()
    await source.say("a")
    const parent = createOp(scene, {})
    const caller = callerOf(scene)
    const { projectID: _p, directory: _d, ...session } = make.session({ parentID: parent.session.id, caller })
    const child = createOp(scene, { parentID: parent.session.id })
    const fork = {
      op: "session.fork" as const,
      sourceID: source.id,
      session,
      segment: make.id("segment"),
    }
    await store.commit({ ops: [parent, child, fork] })
    const tree = await store.tree(parent.session.id)
    assert.deepEqual(ids(tree), [parent.session.id, child.session.id, session.id])
    assert.deepEqual([tree[2]?.caller, tree[2]?.history.count], [caller, 1])
  }),

  promised(
    "trees and callers are there after reopening",
    async (scene) => {
      const root = await scene.session()
      const child = await scene.session({ parentID: root.id, caller: callerOf(scene, { tools: {} }) })
      const fork = await scene.fork(child.id, { fields: { parentID: child.id, caller: callerOf(scene) } })
      const patched = callerOf(scene, { agent: "plan" })
      await root.commit({ op: "session.patch", sessionID: child.id, set: { caller: patched } })
      const tree = await scene.store.tree(root.id)
      assert.deepEqual(tree[1]?.caller, patched)
      await scene.reopen()
      assert.deepEqual(await scene.store.tree(root.id), tree)
      assert.deepEqual(await scene.store.parents(fork.id), [tree[1], tree[0]])
    },
    { needs: ["reopen"] },
  ),

  promised(
    "a tree includes a session that another process created",
    async (scene) => {
      const root = await create(scene)
      const second = await scene.second()
      assert.deepEqual(ids(await second.tree(root)), [root])
      const child = await create(scene, { parentID: root })
      assert.deepEqual(ids(await second.tree(root)), [root, child])
      assert.deepEqual(ids(await second.parents(child)), [root])
      await scene.store.remove(child)
      assert.deepEqual(ids(await second.tree(root)), [root])
    },
    { needs: ["second"] },
  ),
]
