import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import type { Store, Watched } from "../../store.ts"
import { promised } from "../scene.ts"

/** Watches a store: collects the calls of the listener, and can wait until one of them names a session. */
function startWatch(store: Store) {
  const calls: Watched[] = []
  const stop = store.watch((change) => calls.push(change))
  const notified = async (sessionID: string, withinMs = 2000) => {
    const end = Date.now() + withinMs
    while (Date.now() < end) {
      if (calls.some((call) => call.sessions.includes(sessionID))) return true
      await sleep(2)
    }
    return false
  }
  return { calls, stop, notified }
}

export const watchCases = [
  promised("a watcher is notified of every session that a commit changed", async (scene) => {
    const { store } = scene
    const [first, second] = [await scene.session(), await scene.session()]
    const watcher = startWatch(store)
    await first.say("a")
    assert.ok(await watcher.notified(first.id))
    await store.admit(scene.make.prompt(second.id))
    assert.ok(await watcher.notified(second.id))
    const removed = startWatch(store)
    await store.remove(second.id)
    assert.ok(await removed.notified(second.id))
    watcher.stop()
    removed.stop()
  }),

  promised("the cursor that a watcher gets covers the commits that it is notified of", async (scene) => {
    const { store } = scene
    const run = await scene.session()
    const before = await store.cursor()
    const watcher = startWatch(store)
    await Promise.all(
      Array.from({ length: 10 }, () => run.commit({ op: "session.patch", sessionID: run.id })),
    )
    assert.ok(await watcher.notified(run.id))
    const last = await store.cursor()
    for (let i = 0; i < 500 && watcher.calls.at(-1)?.cursor !== last; i++) await sleep(2)
    assert.equal(watcher.calls.at(-1)?.cursor, last)
    assert.deepEqual((await store.changes({ sessionID: run.id }, watcher.calls.at(-1)?.cursor)).rows, [])
    assert.ok((await store.changes({ sessionID: run.id }, before)).rows.length > 0)
    watcher.stop()
  }),

  promised("a stopped watcher is not notified any more", async (scene) => {
    const { store } = scene
    const run = await scene.session()
    const [stopped, going] = [startWatch(store), startWatch(store)]
    await run.say("a")
    assert.ok(await stopped.notified(run.id))
    stopped.stop()
    stopped.stop()
    const count = stopped.calls.length
    const other = await scene.session()
    assert.ok(await going.notified(other.id))
    assert.equal(stopped.calls.length, count)
    going.stop()
  }),

  promised("a failed commit does not notify watchers", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    await sleep(20)
    const watcher = startWatch(store)
    await run.note(make.id("message"), "summary", 1).catch(() => undefined)
    await sleep(20)
    assert.deepEqual(watcher.calls, [])
    watcher.stop()
  }),

  promised(
    "commits of another handle notify watchers and can be read",
    async (scene) => {
      const other = await scene.second()
      const watcher = startWatch(other)
      const cursor = await other.cursor()
      const run = await scene.session({ title: "seen from afar" })
      assert.ok(await watcher.notified(run.id))
      assert.equal((await other.session(run.id)).title, "seen from afar")
      await run.say("a")
      assert.equal((await other.history(run.id)).count, 1)
      const rows = (await other.changes({ sessionID: run.id }, cursor)).rows
      assert.deepEqual(
        rows.map((row) => row.type),
        ["session", "message", "part"],
      )
      const item = scene.make.prompt(run.id)
      await other.admit(item)
      assert.deepEqual(await scene.store.inbox(run.id), [item])
      assert.equal((await scene.store.admit(item)).duplicate, true)
      watcher.stop()
    },
    { needs: ["second"] },
  ),
]
