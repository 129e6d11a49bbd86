import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { Expired } from "../../src/index.ts"
import { manualClock } from "../support/clock.ts"
import { type RunScene, runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, requestsFor, task } from "../support/task-script.ts"

const done = { text: "Done." }
const dayMs = 86_400_000
const nesting = { mode: "subagent", tools: { task: true } } as const

const script = answersTo({
  Go: [{ calls: [task("child")] }, done],
  Deep: [{ calls: [task("middle", { agent: "nesting" })] }, done],
  middle: [{ calls: [task("child")] }, done],
  child: [done],
  "A person speaks": [done],
  Stuck: [{ calls: [task("never")] }, done],
  never: [{ text: "Never.", delayMs: Number.POSITIVE_INFINITY }],
})

function retentionScene(retention: { children?: string; archived?: string }) {
  const clock = manualClock()
  const config = { retention, task: { depth: 2 }, agent: { nesting } }
  return { clock, scene: runScene({ clock, config, script }) }
}

async function family(scene: RunScene) {
  const root = await scene.stemma.sessions.create()
  await root.prompt("Go")
  const [child] = await childrenOf(scene, root)
  await nothingRuns(scene)
  return { root, child: child! }
}

async function everyID({ stemma }: RunScene): Promise<string[]> {
  return (await stemma.sessions.list({ limit: 1000 })).items.map(({ id }) => id).sort()
}

/** A run releases its lease shortly after its answer. */
async function nothingRuns(scene: RunScene): Promise<void> {
  const ids = await everyID(scene)
  await until("nothing runs", () => ids.every((id) => scene.stemma.status(id).type === "idle"))
}

/** Applies the retention rules after a dry run, and returns the result of the dry run. */
async function apply(scene: RunScene, options: { directory?: string } = {}): Promise<Expired[]> {
  const before = await everyID(scene)
  const named = await scene.stemma.sessions.applyRetention({ ...options, dryRun: true })
  expect(await everyID(scene)).toEqual(before)
  expect(await scene.stemma.sessions.applyRetention(options)).toEqual(named)
  const gone = named.map(({ id }) => id)
  expect(await everyID(scene)).toEqual(before.filter((id) => !gone.includes(id)))
  return named
}

test("without a retention time in the config nothing is removed", async () => {
  const { clock, scene: opening } = retentionScene({})
  await using scene = await opening
  const { root } = await family(scene)
  await scene.stemma.sessions.archive(root.id)
  clock.advance(10_000 * dayMs)
  expect(await apply(scene)).toEqual([])
})

test("children are removed a set time after their last change, archived sessions a set time after they were archived", async () => {
  const { clock, scene: opening } = retentionScene({ children: "30d", archived: "90d" })
  await using scene = await opening
  const { sessions } = scene.stemma
  const plain = await family(scene)
  const used = await family(scene)
  const archived = await family(scene)
  await sessions.archive(archived.root.id)
  clock.advance(29 * dayMs)
  expect(await apply(scene)).toEqual([])

  await used.child.prompt("A person speaks")
  await nothingRuns(scene)
  clock.advance(2 * dayMs)
  const first = await apply(scene)
  expect(first.map(({ id }) => id).sort()).toEqual([plain.child.id, archived.child.id].sort())
  expect(first.find(({ id }) => id === plain.child.id)).toEqual({
    id: plain.child.id,
    parentID: plain.root.id,
    title: "child (@general subagent)",
    why: "children",
    updated: clock.now() - 31 * dayMs,
  })

  clock.advance(29 * dayMs)
  expect((await apply(scene)).map(({ id }) => id)).toEqual([used.child.id])
  clock.advance(31 * dayMs)
  expect(await apply(scene)).toMatchObject([{ id: archived.root.id, why: "archived" }])
  clock.advance(1000 * dayMs)
  expect(await apply(scene)).toEqual([])
  expect(await everyID(scene)).toEqual([plain.root.id, used.root.id].sort())
})

test("archived sessions are removed with their descendants; children of other sessions stay if only archived ones have a time", async () => {
  const { clock, scene: opening } = retentionScene({ archived: "12h" })
  await using scene = await opening
  const { sessions } = scene.stemma
  const kept = await family(scene)
  const archived = await family(scene)
  const back = await family(scene)
  await sessions.archive(archived.root.id)
  await sessions.archive(back.root.id)
  clock.advance(dayMs / 4)
  await sessions.archive(back.root.id, { archived: false })
  clock.advance(dayMs)
  const named = await apply(scene)
  expect(named.map(({ id, why }) => `${id} ${why}`).sort()).toEqual(
    [archived.root.id, archived.child.id].map((id) => `${id} archived`).sort(),
  )
  expect(await everyID(scene)).toEqual([kept.root.id, kept.child.id, back.root.id, back.child.id].sort())
})

test("a child stays as long as one of its descendants is newer; then the whole tree is removed", async () => {
  const { clock, scene: opening } = retentionScene({ children: "30d" })
  await using scene = await opening
  const root = await scene.stemma.sessions.create()
  await root.prompt("Deep")
  const [middle] = await childrenOf(scene, root)
  const [leaf] = await childrenOf(scene, middle!)
  clock.advance(20 * dayMs)
  await leaf!.prompt("A person speaks")
  await nothingRuns(scene)
  clock.advance(20 * dayMs)
  expect(await apply(scene)).toEqual([])
  clock.advance(11 * dayMs)
  expect((await apply(scene)).map(({ id }) => id).sort()).toEqual([middle!.id, leaf!.id].sort())
})

test("a running child is never removed", async () => {
  const { clock, scene: opening } = retentionScene({ children: "30d" })
  await using scene = await opening
  const root = await scene.stemma.sessions.create()
  const run = root.prompt("Stuck")
  await until("the child works", () => requestsFor(scene, "never").length === 1)
  clock.advance(100 * dayMs)
  expect(await apply(scene)).toEqual([])
  await root.abort()
  await run
  const [child] = await childrenOf(scene, root)
  await nothingRuns(scene)
  clock.advance(100 * dayMs)
  expect((await apply(scene)).map(({ id }) => id)).toEqual([child!.id])
})

test("sessions of another project are not removed", async () => {
  const { clock, scene: opening } = retentionScene({ children: "30d" })
  await using scene = await opening
  const elsewhere = join(scene.directory, "..", "elsewhere")
  await mkdir(elsewhere)
  const here = await family(scene)
  const there = await scene.stemma.sessions.create({ directory: elsewhere })
  await there.prompt("Go")
  const [childThere] = await childrenOf(scene, there)
  await nothingRuns(scene)
  clock.advance(31 * dayMs)
  expect((await apply(scene)).map(({ id }) => id)).toEqual([here.child.id])
  expect((await apply(scene, { directory: elsewhere })).map(({ id }) => id)).toEqual([childThere!.id])
})

test("a fork keeps the history that it shares with a removed child", async () => {
  const { clock, scene: opening } = retentionScene({ children: "30d" })
  await using scene = await opening
  const { child } = await family(scene)
  const fork = await scene.stemma.sessions.fork(child.id)
  const before = (await fork.messages()).map(({ parts }) => parts.map(({ id }) => id))
  clock.advance(31 * dayMs)
  expect((await apply(scene)).map(({ id }) => id)).toEqual([child.id])
  expect((await fork.messages()).map(({ parts }) => parts.map(({ id }) => id))).toEqual(before)
  expect((await fork.prompt("A person speaks")).text).toBe("Done.")
})
