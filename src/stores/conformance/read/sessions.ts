import assert from "node:assert/strict"
import type { NewSession } from "../../../protocol/index.ts"
import type { SessionQuery } from "../../store.ts"
import { failsWith, promised, type Scene } from "../scene.ts"

/** Creates sessions with these fields in one commit and returns their ids. */
async function createAll(scene: Scene, list: Partial<NewSession>[]): Promise<string[]> {
  const sessions = list.map((fields) => scene.make.session(fields))
  await scene.store.commit({
    ops: sessions.map((session) => ({ op: "session.create", session, segment: scene.make.id("segment") })),
  })
  return sessions.map((session) => session.id)
}

async function listed(scene: Scene, query?: SessionQuery): Promise<string[]> {
  return (await scene.store.sessions(query)).items.map((session) => session.id)
}

const at = (created: number, updated = created) => ({ time: { created, updated } })

export const sessionsCases = [
  promised("sessions are listed by last update or by creation, newest first", async (scene) => {
    const [a, b, c, d] = await createAll(scene, [at(10, 50), at(20, 40), at(30, 50), at(20, 20)])
    assert.deepEqual(await listed(scene), [c, a, b, d])
    assert.deepEqual(await listed(scene, { order: "created" }), [c, d, b, a])
    await scene.store.commit({
      ops: [{ op: "session.patch", sessionID: d!, set: { time: { updated: 60 } } }],
    })
    assert.deepEqual(await listed(scene), [d, c, a, b])
  }),

  promised("sessions() returns sessions as session() does", async (scene) => {
    const run = await scene.session({ agent: "build", key: "k" })
    await run.say("a")
    assert.deepEqual(await scene.store.sessions(), { items: [await run.info()] })
  }),

  promised(
    "filters by project, directory, parent, agent, key, archived, time and title can be combined",
    async (scene) => {
      const [root] = await createAll(scene, [{ projectID: "none", directory: "/none", title: "none" }])
      const [a, b, c] = await createAll(scene, [
        { ...at(10), projectID: "p1", directory: "/d1", agent: "build", key: "k1", title: "Fix the Bug" },
        { ...at(20), projectID: "p1", directory: "/d2", agent: "plan", key: "k2", title: "Ärger mit 100%" },
        {
          time: { created: 30, updated: 30, archived: 31 },
          projectID: "p2",
          parentID: root,
          title: "bug_fix",
        },
      ])
      const cases: [SessionQuery, (string | undefined)[]][] = [
        [{ projectID: "p1" }, [b, a]],
        [{ projectID: "p1", directory: "/d2" }, [b]],
        [{ directory: "/d1" }, [a]],
        [{ parentID: root }, [c]],
        [{ parentID: null, projectID: "p1" }, [b, a]],
        [{ parentID: null, projectID: "p2" }, []],
        [{ agent: "build" }, [a]],
        [{ key: "k2" }, [b]],
        [{ key: "k2", agent: "build" }, []],
        [{ archived: true }, [c]],
        [{ archived: false, projectID: "p2" }, []],
        [{ archived: false, projectID: "p1" }, [b, a]],
        [{ updated: { from: 20, to: 31 } }, [c, b]],
        [{ updated: { from: 11, to: 30 } }, [b]],
        [{ updated: { to: 20 } }, [a]],
        [{ title: "bug" }, [c, a]],
        [{ title: "BUG_" }, [c]],
        [{ title: "100%" }, [b]],
        [{ title: "ärger" }, [b]],
        [{ title: "%" }, [b]],
        [{ title: "_" }, [c]],
        [{ title: "b", projectID: "p1" }, [a]],
        [{ projectID: "nobody's" }, []],
      ]
      for (const [query, expected] of cases) {
        assert.deepEqual(await listed(scene, query), expected, JSON.stringify(query))
        assert.deepEqual(await listed(scene, { ...query, order: "created" }), expected, JSON.stringify(query))
      }
    },
  ),

  promised(
    "all pages together are the whole list, also if many sessions have the same time",
    async (scene) => {
      await createAll(
        scene,
        Array.from({ length: 23 }, (_, i) => ({ ...at(i % 3, i % 4), projectID: i % 2 ? "odd" : "even" })),
      )
      for (const query of [{}, { order: "created" }, { projectID: "odd" }] satisfies SessionQuery[]) {
        const whole = await listed(scene, { ...query, limit: 1000 })
        for (const limit of [1, 5, whole.length]) {
          const joined: string[] = []
          let cursor: string | undefined
          do {
            const page = await scene.store.sessions({ ...query, limit, cursor })
            assert.ok(page.items.length <= limit)
            joined.push(...page.items.map((session) => session.id))
            cursor = page.next
          } while (cursor !== undefined)
          assert.deepEqual(joined, whole)
        }
      }
      assert.equal((await scene.store.sessions()).items.length, 23)
    },
  ),

  promised("a page has 50 sessions by default, and an invalid limit or cursor is refused", async (scene) => {
    const { store } = scene
    await createAll(
      scene,
      Array.from({ length: 51 }, () => ({})),
    )
    const page = await store.sessions()
    assert.equal(page.items.length, 50)
    assert.equal((await store.sessions({ cursor: page.next })).items.length, 1)
    for (const limit of [0, 1001, 0.5]) await failsWith("invalid", store.sessions({ limit }))
    await failsWith("invalid", store.sessions({ cursor: "nonsense" }))
    await failsWith("invalid", store.sessions({ cursor: page.next, order: "created" }))
  }),

  promised("reading an unknown session fails with not_found", async (scene) => {
    const id = scene.make.id("session")
    for (const call of [scene.store.session(id), scene.store.history(id), scene.store.todos(id)]) {
      await failsWith("not_found", call)
    }
    await failsWith("not_found", scene.store.permissions({ sessionID: id }))
    await failsWith("not_found", scene.store.permissions({ sessionID: id, open: true }))
  }),

  promised("todos are replaced as a whole", async (scene) => {
    const run = await scene.session()
    const todo = (id: string) => ({ id, content: id, status: "pending", priority: "high" }) as const
    const put = (...todos: ReturnType<typeof todo>[]) =>
      scene.store.commit({ ops: [{ op: "todos.put", sessionID: run.id, todos }] })
    assert.deepEqual(await scene.store.todos(run.id), [])
    await put(todo("b"), todo("a"))
    assert.deepEqual(await scene.store.todos(run.id), [todo("b"), todo("a")])
    await put(todo("c"))
    assert.deepEqual(await scene.store.todos(run.id), [todo("c")])
  }),

  promised("session ids and message ids of other programs are stored unchanged", async (scene) => {
    const run = await scene.session({ id: "ses-1708300000000" })
    const message = scene.make.user({ id: "msg-11" })
    const parts = [{ ...scene.make.text("a"), id: "prt-1" }]
    await run.commit({ op: "message.append", sessionID: run.id, message, parts, sealed: true })
    const [item] = await run.items()
    assert.deepEqual([item?.message.id, item?.parts[0]?.id], ["msg-11", "prt-1"])
    assert.equal((await scene.store.session("ses-1708300000000")).id, "ses-1708300000000")
  }),
]
