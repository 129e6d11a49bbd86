import assert from "node:assert/strict"
import { failsWith, promised, type Scene } from "../scene.ts"

async function found(scene: Scene, secret: string): Promise<string[]> {
  return (await scene.store.sessions({ share: secret })).items.map((session) => session.id)
}

export const shareCases = [
  promised("a shared session is found by its exact secret only", async (scene) => {
    const { store, make } = scene
    const secret = "s".repeat(24)
    const share = { url: "https://example.org/share/1", secret, include: { tools: true } }
    const root = (await scene.session()).id
    const other = (await scene.session({ share: { url: "https://example.org/old" } })).id
    const patch = (sessionID: string, set: { share: typeof share | null }) =>
      store.commit({ ops: [{ op: "session.patch", sessionID, set }] })
    assert.deepEqual(await found(scene, secret), [])
    await patch(root, { share })
    assert.deepEqual(await found(scene, secret), [root])
    assert.deepEqual((await store.session(root)).share, share)
    assert.deepEqual((await store.session(other)).share, { url: "https://example.org/old" })
    for (const wrong of ["", "s", `${secret}s`, secret.toUpperCase(), "__proto__"]) {
      assert.deepEqual(await found(scene, wrong), [])
    }
    const query = { share: secret, directory: "/elsewhere" }
    assert.deepEqual((await store.sessions(query)).items, [])
    const fork = await scene.fork(root)
    assert.equal((await fork.info()).share, undefined)
    assert.deepEqual(await found(scene, secret), [root])
    const third = make.session({ share })
    const create = store.commit({
      ops: [{ op: "session.create", session: third, segment: make.id("segment") }],
    })
    await failsWith("conflict", create)
    await failsWith("conflict", patch(other, { share }))
    await patch(root, { share: { ...share, url: "https://example.org/share/2" } })
    assert.deepEqual(await found(scene, secret), [root])
    await patch(root, { share: { ...share, secret: "t".repeat(24) } })
    assert.deepEqual(await found(scene, secret), [])
    assert.deepEqual(await found(scene, "t".repeat(24)), [root])
    await patch(root, { share: null })
    assert.deepEqual(await found(scene, "t".repeat(24)), [])
    assert.equal((await store.session(root)).share, undefined)
    await patch(other, { share })
    assert.deepEqual(await found(scene, secret), [other])
    await store.remove(other)
    assert.deepEqual(await found(scene, secret), [])
    await patch(root, { share })
    assert.deepEqual(await found(scene, secret), [root])
  }),
]
