import { expect, test } from "vitest"
import { openStore } from "../../src/index.ts"
import { attempts, files, filesIn, worker } from "../support/rights-scene.ts"
import { storeWith } from "../support/run/store-with.ts"
import { type RunScene, runScene } from "../support/run-scene.ts"
import { answersTo, childrenOf, results, task } from "../support/task-script.ts"

const refused = expect.stringMatching(/^Not allowed: |^There is no tool /)
const python = { tool: "bash", input: { command: `python3 -c 'open("file-0.txt", "w")'` } }
const write = { tool: "write", input: { filePath: "new.txt", content: "x" } }
const yes = async () => ({ reply: "once" as const })
const lax = { "*": "allow" } as const

/**
 * "Go" gives a task that changes nothing. "Go on" makes the same child try to change files. A person may send "Change".
 */
async function continuedScene(): Promise<{ scene: RunScene; child: { id: string } }> {
  const child = { id: "" }
  const scene = await runScene({
    files,
    onPermission: yes,
    config: { agent: { worker, eager: { mode: "all", permission: lax, tools: { "*": true } } } },
    script: answersTo({
      Go: [{ calls: [task("Look", { agent: "worker" })] }, { text: "Done." }],
      "Go on": [
        () => ({ calls: [task("Change", { agent: "worker", session_id: child.id })] }),
        { text: "Done." },
      ],
      Look: [{ text: "I looked." }],
      Change: [{ calls: [python, write] }, { text: "I tried." }],
      "Change everything": [{ calls: attempts }, { text: "I tried." }],
    }),
  })
  return { scene, child }
}

test("a continued child is bound by the caller that gives it the new task, not by the earlier one", async () => {
  const { scene, child } = await continuedScene()
  await using _ = scene
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go", { agent: "build" })
  const [handle] = await childrenOf(scene, session)
  child.id = handle!.id
  await session.prompt("Go on", { agent: "plan" })
  expect(await results(handle!)).toEqual([refused, refused])
  await session.prompt("Go on", { agent: "build", tools: { write: false, bash: false } })
  expect((await results(handle!)).slice(2)).toEqual([refused, refused])
  expect(await filesIn(scene.directory)).toEqual(files)
  expect((await scene.stemma.sessions.children(session.id)).items).toHaveLength(1)

  await session.prompt("Go on", { agent: "build" })
  expect(await filesIn(scene.directory)).toMatchObject({ "file-0.txt": "", "new.txt": "x" })
})

test("a fork of a session that may not edit may not edit either, nor may the child that it continues", async () => {
  const { scene, child } = await continuedScene()
  await using _ = scene
  const session = await scene.stemma.sessions.create({ permission: { edit: "deny" } })
  await session.prompt("Go")
  child.id = (await childrenOf(scene, session))[0]!.id
  const fork = await scene.stemma.sessions.fork(session.id)
  await fork.prompt("Go on")
  const [forked] = (await scene.stemma.sessions.children(fork.id)).items
  expect(forked).toBeDefined()
  expect(await results(await scene.stemma.sessions.get(forked!.id))).toEqual([refused, refused])
  expect(await filesIn(scene.directory)).toEqual(files)
})

test("a child that is forked with its parent keeps the stricter rules of its session", async () => {
  const { scene, child } = await continuedScene()
  await using _ = scene
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  child.id = (await childrenOf(scene, session))[0]!.id
  await scene.stemma.sessions.update(child.id, { permission: { edit: "deny" } })
  const fork = await scene.stemma.sessions.fork(session.id)
  await fork.prompt("Go on")
  const [forked] = (await scene.stemma.sessions.children(fork.id)).items
  expect(await results(await scene.stemma.sessions.get(forked!.id))).toEqual([refused, refused])
  expect(await filesIn(scene.directory)).toEqual(files)
})

interface Bound {
  session?: { permission: { edit: "deny" } }
  prompt?: { agent?: string; tools?: Record<string, boolean> }
}

const bounds: Record<string, Bound> = {
  "the session's rules": { session: { permission: { edit: "deny" } } },
  "the agent that gave the task": { prompt: { agent: "plan" } },
  "the tools of the message that gave the task": {
    prompt: { tools: { edit: false, write: false, bash: false } },
  },
}

test.each(Object.entries(bounds))(
  "a person's prompt to a child can do no more than its parent may: by %s",
  async (_, bound) => {
    const { scene } = await continuedScene()
    await using _scene = scene
    const session = await scene.stemma.sessions.create(bound.session)
    await session.prompt("Go", bound.prompt)
    const [child] = await childrenOf(scene, session)
    await scene.stemma.sessions.update(child!.id, { permission: lax })
    await child!.prompt("Change everything", { tools: { "*": true } })
    await child!.prompt("Change everything", { agent: "eager" })
    await child!.setAgent("eager")
    await child!.prompt("Change everything")
    const told = await results(child!)
    expect(told).toHaveLength(attempts.length * 3)
    expect(told).toEqual(told.map(() => refused))
    expect(await filesIn(scene.directory)).toEqual(files)
  },
)

test("a child may do nothing if its parent's agent is no longer in the config", async () => {
  const { scene } = await continuedScene()
  await using _ = scene
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go", { agent: "eager" })
  const [child] = await childrenOf(scene, session)
  const other = await scene.again({ config: { agent: { worker } } })
  const again = await other.sessions.get(child!.id)
  await again.prompt("Change everything")
  expect(await results(again)).toEqual(attempts.map(() => refused))
  expect(await filesIn(scene.directory)).toEqual(files)
})

test("a session that does not exist cannot have a child, and a removed parent leaves no child", async () => {
  const { scene } = await continuedScene()
  await using _ = scene
  const { sessions } = scene.stemma
  const session = await sessions.create()
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  await sessions.remove(session.id)
  await expect(child!.prompt("Change")).rejects.toMatchObject({ code: "not_found" })
  await expect(sessions.create({ parentID: session.id, permission: lax })).rejects.toMatchObject({
    code: "not_found",
  })
  expect(await filesIn(scene.directory)).toEqual(files)
})

test("a child whose parent is unknown, or that has too many ancestors, may do nothing", async () => {
  const own = await openStore({ driver: "memory" })
  let isKnown = true
  const store = storeWith(own, { parents: async (id) => (isKnown ? own.parents(id) : []) })
  await using scene = await runScene({
    files,
    store,
    onPermission: yes,
    script: answersTo({ Change: [{ calls: [python, write] }, { text: "I tried." }] }),
  })
  const { sessions } = scene.stemma
  const root = await sessions.create({ permission: lax })
  const child = await sessions.create({ parentID: root.id, permission: lax })
  isKnown = false
  await child.prompt("Change")
  expect(await results(child)).toEqual([refused, refused])
  isKnown = true
  let lowest = child
  for (let depth = 0; depth < 40; depth++) {
    lowest = await sessions.create({ parentID: lowest.id, permission: lax })
  }
  await lowest.prompt("Change")
  expect(await results(lowest)).toEqual([refused, refused])
  expect(await filesIn(scene.directory)).toEqual(files)
  await child.prompt("Change")
  expect(await filesIn(scene.directory)).toMatchObject({ "file-0.txt": "", "new.txt": "x" })
})

test("a child whose parent is removed while its model is answering does nothing more", async () => {
  const thinks = Promise.withResolvers<void>()
  const removed = Promise.withResolvers<void>()
  await using scene = await runScene({
    files,
    onPermission: yes,
    config: { agent: { worker } },
    script: answersTo({
      Go: [{ calls: [task("Change", { agent: "worker" })] }, { text: "Done." }],
      Change: [
        async () => {
          thinks.resolve()
          await removed.promise
          return { calls: [python, write] }
        },
        { text: "Done." },
      ],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await thinks.promise
  const [child] = await childrenOf(scene, session)
  await scene.stemma.sessions.remove(session.id)
  removed.resolve()
  await Promise.allSettled([run])
  await expect(child!.info()).rejects.toMatchObject({ code: "not_found" })
  await scene.stemma.close()
  expect(await filesIn(scene.directory)).toEqual(files)
})
