import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { currentHolder } from "../../holder.ts"
import { type Lease, leaseDurationMs } from "../../store.ts"
import { failsWith, promised, Run, type Scene } from "../scene.ts"

/** Creates a session without a lease. */
async function unclaimed(scene: Scene): Promise<string> {
  const session = scene.make.session()
  await scene.store.commit({
    ops: [{ op: "session.create", session, segment: scene.make.id("segment") }],
  })
  return session.id
}

export const leaseCases = [
  promised(
    "a lease has one holder, and the error of a second claim names the holder and the expiry",
    async (scene) => {
      const { store } = scene
      const id = await unclaimed(scene)
      const lease = await store.claim(id)
      assert.deepEqual([lease.sessionID, lease.fence, lease.durationMs], [id, 1, leaseDurationMs])
      const error = await failsWith("conflict", store.claim(id))
      assert.equal(error.details?.expiresAt, lease.expiresAt)
      const { host, pid } = currentHolder()
      assert.partialDeepStrictEqual(error.details?.holder, { host, pid })
      await failsWith("not_found", store.claim(scene.make.id("session")))
    },
  ),

  promised("every claim has a higher fence than all earlier claims", async (scene) => {
    const { store } = scene
    const id = await unclaimed(scene)
    for (const fence of [1, 2, 3]) {
      const lease = await store.claim(id)
      assert.equal(lease.fence, fence)
      await store.release(lease)
    }
  }),

  promised("the operations of a run need the fence of the present lease", async (scene) => {
    const { store, make } = scene
    const id = await unclaimed(scene)
    const op = () => ({ op: "message.append", sessionID: id, message: make.user(), sealed: true }) as const
    const error = await failsWith("conflict", store.commit({ ops: [op()] }))
    assert.match(error.message, /claim/i)
    const lease = await store.claim(id)
    const run = new Run(scene, lease)
    await run.say("a")
    const commit = (fence: number) => store.commit({ ops: [op()], fences: { [id]: fence } })
    await failsWith("conflict", commit(lease.fence + 1))
    await failsWith("conflict", store.commit({ ops: [op()] }))
    await store.release(lease)
    await failsWith("conflict", commit(lease.fence))
    const next = await store.claim(id)
    await failsWith("conflict", commit(lease.fence))
    await commit(next.fence)
    assert.equal((await store.history(id)).count, 2)
  }),

  promised(
    "a commit with a wrong fence fails even if none of its operations needs a fence",
    async (scene) => {
      const { store } = scene
      const run = await scene.session()
      const ops = [{ op: "session.patch" as const, sessionID: run.id, set: { title: "x" } }]
      await failsWith("conflict", store.commit({ ops, fences: { [run.id]: 7 } }))
      await failsWith("not_found", store.commit({ ops, fences: { [scene.make.id("session")]: 1 } }))
      await store.commit({ ops })
      assert.equal((await run.info()).title, "x")
    },
  ),

  promised("releasing a lost lease does not affect the present lease", async (scene) => {
    const { store } = scene
    const id = await unclaimed(scene)
    const lost = await store.claim(id)
    await store.release(lost)
    await store.release(lost)
    const present = await store.claim(id)
    await store.release(lost)
    await failsWith("conflict", store.claim(id))
    await failsWith("conflict", store.renew(lost))
    await new Run(scene, present).say("still mine")
    await store.release({ ...present, sessionID: scene.make.id("session") })
  }),

  promised("claiming, renewing and releasing change neither the session nor the cursor", async (scene) => {
    const { store } = scene
    const id = await unclaimed(scene)
    const before = { info: await store.session(id), cursor: await store.cursor() }
    const lease = await store.claim(id)
    await store.renew(lease)
    await store.release(lease)
    assert.deepEqual({ info: await store.session(id), cursor: await store.cursor() }, before)
  }),

  promised(
    "a lease expires by the store's clock: commits of its holder fail, and another claim succeeds",
    async (scene) => {
      const { store, clock } = scene
      const id = await unclaimed(scene)
      const lease = await store.claim(id)
      const run = new Run(scene, lease)
      clock.advance(leaseDurationMs - 1)
      await run.say("in time")
      await failsWith("conflict", store.claim(id))
      clock.advance(1)
      await failsWith("conflict", run.say("too late"))
      await failsWith("conflict", store.renew(lease))
      const next = await store.claim(id)
      assert.equal(next.fence, lease.fence + 1)
      await failsWith("conflict", store.renew(lease))
      await failsWith("conflict", run.say("too late"))
      await new Run(scene, next).say("by the next")
      assert.equal((await store.history(id)).count, 2)
    },
    { needs: ["clock"] },
  ),

  promised(
    "after the clock was set back, a lease that is not renewed for its duration counts as expired",
    async (scene) => {
      const { store, clock } = scene
      const id = await unclaimed(scene)
      const lost = await store.claim(id)
      clock.setBack(3_600_000)
      await failsWith("conflict", store.claim(id))
      clock.advance(leaseDurationMs - 1)
      await failsWith("conflict", store.claim(id))
      clock.advance(1)
      const next = await store.claim(id)
      assert.equal(next.fence, lost.fence + 1)
      await failsWith("conflict", new Run(scene, lost).say("too late"))
      await new Run(scene, next).say("by the next")
      clock.advance(leaseDurationMs)
      await failsWith("conflict", store.renew(next))
    },
    { needs: ["clock"] },
  ),

  promised(
    "after the clock was set back, a lease that its holder renews stays with the holder",
    async (scene) => {
      const { store, clock } = scene
      const id = await unclaimed(scene)
      let lease = await store.claim(id)
      clock.setBack(3_600_000)
      for (let i = 0; i < 4; i++) {
        await failsWith("conflict", store.claim(id))
        clock.advance(leaseDurationMs - 1)
        lease = await store.renew(lease)
        await new Run(scene, lease).say("still mine")
      }
      await failsWith("conflict", store.claim(id))
      await store.release(lease)
      await store.claim(id)
    },
    { needs: ["clock"] },
  ),

  promised(
    "a lease of a process whose clock is ahead is judged by its renewals",
    async (scene) => {
      const { clock } = scene
      const ahead = { now: () => clock.now() + 3_600_000, monotonic: () => clock.monotonic() }
      const elsewhere = { ...currentHolder(), host: "another-host" }
      const other = await scene.second({ clock: ahead, holder: elsewhere })
      const id = await unclaimed(scene)
      let lease = await other.claim(id)
      for (let i = 0; i < 4; i++) {
        await failsWith("conflict", scene.store.claim(id))
        clock.advance(leaseDurationMs - 1)
        lease = await other.renew(lease)
      }
      await failsWith("conflict", scene.store.claim(id))
      clock.advance(leaseDurationMs)
      const next = await scene.store.claim(id)
      assert.equal(next.fence, lease.fence + 1)
      await failsWith("conflict", other.renew(lease))
    },
    { needs: ["clock", "second"] },
  ),

  promised(
    "renewing extends a lease with the same fence",
    async (scene) => {
      const { store, clock } = scene
      const id = await unclaimed(scene)
      let lease: Lease = await store.claim(id)
      for (let i = 0; i < 5; i++) {
        clock.advance(leaseDurationMs - 1)
        const renewed = await store.renew(lease)
        assert.deepEqual(renewed, { ...lease, expiresAt: clock.now() + leaseDurationMs })
        lease = renewed
      }
      await new Run(scene, lease).say("still mine")
    },
    { needs: ["clock"] },
  ),

  promised(
    "a lease excludes other handles, and fences keep growing after a reopen",
    async (scene) => {
      const other = await scene.second()
      const id = await unclaimed(scene)
      const lease = await scene.store.claim(id)
      await failsWith("conflict", other.claim(id))
      await scene.store.release(lease)
      const next = await other.claim(id)
      assert.equal(next.fence, lease.fence + 1)
      await failsWith("conflict", new Run(scene, lease).say("stale"))
      await other.release(next)
      await scene.reopen()
      assert.equal((await scene.store.claim(id)).fence, next.fence + 1)
    },
    { needs: ["second", "reopen"] },
  ),

  promised(
    "a claim takes over the lease of a process that is known to be dead",
    async (scene) => {
      const { pid } = spawnSync(process.execPath, ["--eval", ""])
      const dead = { ...currentHolder(), pid, start: "1" }
      const lost = await scene.second({ holder: dead })
      const id = await unclaimed(scene)
      const lease = await lost.claim(id)
      const next = await scene.store.claim(id)
      assert.equal(next.fence, lease.fence + 1)
    },
    { needs: ["second"] },
  ),
]
