import assert from "node:assert/strict"
import type { PermissionRequest } from "../../../protocol/index.ts"
import { failsWith, promised } from "../scene.ts"

export const permissionsCases = [
  promised(
    "permission requests keep the order in which they were asked, and answered requests can be left out",
    async (scene) => {
      const { store, make } = scene
      const run = await scene.session()
      const sessionID = run.id
      const [first, second] = [
        make.permission(sessionID),
        make.permission(sessionID, { metadata: { a: [1] } }),
      ]
      for (const request of [first, second]) await store.commit({ ops: [{ op: "permission.put", request }] })
      assert.deepEqual(await store.permissions({ sessionID }), [first, second])
      const answered = {
        ...first,
        reply: "reject" as const,
        feedback: "no",
        time: { created: 1, replied: 2 },
      }
      await store.commit({ ops: [{ op: "permission.put", request: answered }] })
      assert.deepEqual(await store.permissions({ sessionID }), [answered, second])
      assert.deepEqual(await store.permissions({ sessionID, open: true }), [second])
    },
  ),

  promised(
    "requests are found by id, and open requests of all sessions in the order in which they were asked",
    async (scene) => {
      const { store, make } = scene
      const [one, two] = [await scene.session(), await scene.session()]
      const [a, b, c, d] = [two.id, one.id, two.id, one.id].map((id) => make.permission(id))
      const put = (...requests: PermissionRequest[]) =>
        store.commit({ ops: requests.map((request) => ({ op: "permission.put", request })) })
      assert.deepEqual(await store.permissions({ open: true }), [])
      await put(a!)
      await put(b!, c!, d!)
      assert.deepEqual(await store.permissions({ open: true }), [a, b, c, d])
      assert.deepEqual(await store.permissions({ permissionID: c!.id }), [c])
      assert.deepEqual(await store.permissions({ permissionID: c!.id, sessionID: two.id }), [c])
      assert.deepEqual(await store.permissions({ permissionID: c!.id, sessionID: one.id }), [])
      const answered = { ...a!, reply: "once" as const, time: { created: 1, replied: 2 } }
      await put(answered)
      await put({ ...b!, metadata: { seen: true } })
      assert.deepEqual(await store.permissions({ open: true }), [{ ...b!, metadata: { seen: true } }, c, d])
      assert.deepEqual(await store.permissions({ open: true, sessionID: two.id }), [c])
      assert.deepEqual(await store.permissions({ permissionID: a!.id }), [answered])
      assert.deepEqual(await store.permissions({ permissionID: a!.id, open: true }), [])
      for (const permissionID of [make.id("permission"), one.id, "", "__proto__"]) {
        assert.deepEqual(await store.permissions({ permissionID }), [])
      }
      await store.remove(one.id)
      assert.deepEqual(await store.permissions({ open: true }), [c])
      assert.deepEqual(await store.permissions({ permissionID: d!.id }), [])
    },
  ),

  promised("a query for all requests of all sessions is refused", async (scene) => {
    const run = await scene.session()
    await scene.store.commit({ ops: [{ op: "permission.put", request: scene.make.permission(run.id) }] })
    for (const query of [{}, { open: false }, { sessionID: undefined }]) {
      await failsWith("invalid", scene.store.permissions(query))
    }
  }),

  promised(
    "open requests and shares are found after reopening",
    async (scene) => {
      const { make } = scene
      const secret = "s".repeat(24)
      const share = { url: "https://example.org/share/1", secret }
      const [one, two] = [await scene.session({ share }), await scene.session()]
      const [a, b, c] = [two.id, one.id, two.id].map((id) => make.permission(id))
      await scene.store.commit({ ops: [a!, b!, c!].map((request) => ({ op: "permission.put", request })) })
      const answered = { ...a!, reply: "reject" as const }
      await scene.store.commit({ ops: [{ op: "permission.put", request: answered }] })
      const store = await scene.reopen()
      assert.deepEqual(await store.permissions({ open: true }), [b, c])
      assert.deepEqual(await store.permissions({ permissionID: a!.id }), [answered])
      assert.equal((await store.sessions({ share: secret })).items[0]?.id, one.id)
      await failsWith("conflict", scene.session({ share }))
    },
    { needs: ["reopen"] },
  ),

  promised(
    "requests, replies and shares of another process are found",
    async (scene) => {
      const { make, store } = scene
      const other = await scene.second()
      const secret = "s".repeat(24)
      const run = await scene.session()
      const request = make.permission(run.id)
      assert.deepEqual(await other.permissions({ open: true }), [])
      assert.deepEqual((await other.sessions({ share: secret })).items, [])
      const set = { share: { url: "https://example.org", secret } }
      await store.commit({
        ops: [
          { op: "permission.put", request },
          { op: "session.patch", sessionID: run.id, set },
        ],
      })
      assert.deepEqual(await other.permissions({ open: true }), [request])
      assert.deepEqual(await other.permissions({ permissionID: request.id }), [request])
      assert.equal((await other.sessions({ share: secret })).items[0]?.id, run.id)
      await other.commit({
        ops: [
          { op: "permission.put", request: { ...request, reply: "once" } },
          { op: "session.patch", sessionID: run.id, set: { share: null } },
        ],
      })
      assert.deepEqual(await store.permissions({ open: true }), [])
      assert.deepEqual((await store.sessions({ share: secret })).items, [])
    },
    { needs: ["second"] },
  ),
]
