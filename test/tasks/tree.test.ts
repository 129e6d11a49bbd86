import { expect, test } from "vitest"
import { StemmaError } from "../../src/index.ts"
import { assertValid, runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, requestsFor, results, task, workingChild } from "../support/task-script.ts"

const done = { text: "Done." }
const never = { text: "Never.", delayMs: Number.POSITIVE_INFINITY }
const nesting = { mode: "subagent", tools: { task: true } } as const
const usage = (input: number, output: number) => ({
  input,
  output,
  reasoning: 0,
  cache: { read: 0, write: 0 },
})

/** A root with two children; the first child has two children. */
async function familyScene(options: Parameters<typeof runScene>[0] = {}) {
  const scene = await runScene({
    config: { task: { depth: 2 }, agent: { nesting } },
    script: answersTo({
      root: [
        { calls: [task("left", { agent: "nesting" }), task("right")], usage: usage(100, 10) },
        { text: "Done.", usage: usage(200, 20) },
      ],
      left: [
        { calls: [task("left leaf"), task("other leaf")], usage: usage(1000, 100) },
        { text: "Left.", usage: usage(2000, 200) },
      ],
      "left leaf": [{ text: "Leaf.", usage: usage(10_000, 1000) }],
      "other leaf": [{ text: "Other.", usage: usage(20_000, 2000) }],
      right: [{ text: "Right.", usage: usage(40_000, 4000) }],
      alone: [{ text: "Alone.", usage: usage(7, 7) }],
      "Still there?": [{ text: "Yes." }],
    }),
    ...options,
  })
  const root = await scene.stemma.sessions.create({ title: "root" })
  await root.prompt("root")
  const [left, right] = await childrenOf(scene, root)
  const [leftLeaf, otherLeaf] = await childrenOf(scene, left!)
  const alone = await scene.stemma.sessions.create({ title: "alone" })
  await alone.prompt("alone")
  return { scene, root, left: left!, right: right!, leftLeaf: leftLeaf!, otherLeaf: otherLeaf!, alone }
}

test("children, tree and parents list exactly the related sessions", async () => {
  const { scene, root, left, right, leftLeaf, otherLeaf, alone } = await familyScene()
  await using _ = scene
  const { sessions } = scene.stemma
  const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id)
  expect(ids((await sessions.children(root.id)).items).sort()).toEqual([left.id, right.id].sort())
  expect((await sessions.children(right.id)).items).toEqual([])
  const tree = ids(await sessions.tree(root.id))
  expect([...tree].sort()).toEqual(ids([root, left, right, leftLeaf, otherLeaf]).sort())
  expect(tree[0]).toBe(root.id)
  for (const leaf of [leftLeaf, otherLeaf])
    expect(tree.indexOf(leaf.id)).toBeGreaterThan(tree.indexOf(left.id))
  expect(ids(await sessions.tree(left.id)).sort()).toEqual(ids([left, leftLeaf, otherLeaf]).sort())
  expect(ids(await sessions.tree(alone.id))).toEqual([alone.id])
  expect(ids(await sessions.parents(otherLeaf.id))).toEqual([left.id, root.id])
  expect(await sessions.parents(root.id)).toEqual([])
  const missing = "ses_01arz3ndektsv4rrffq69g5fav"
  await expect(sessions.tree(missing)).rejects.toMatchObject({ code: "not_found" })
  await expect(sessions.parents(missing)).rejects.toMatchObject({ code: "not_found" })
})

test("the children of a parent come in pages", async () => {
  const prompts = Array.from({ length: 5 }, (_, index) => `child ${index}`)
  await using scene = await runScene({
    script: answersTo({
      root: [{ calls: prompts.map((prompt) => task(prompt)) }, done],
      ...Object.fromEntries(prompts.map((prompt) => [prompt, [done]])),
    }),
  })
  const root = await scene.stemma.sessions.create()
  await root.prompt("root")
  const seen: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await scene.stemma.sessions.children(root.id, { limit: 2, ...(cursor && { cursor }) })
    expect(page.items.length).toBeLessThanOrEqual(2)
    seen.push(...page.items.map(({ title }) => title))
    cursor = page.next
    if (cursor === undefined) break
  }
  expect(seen.sort()).toEqual(prompts.map((prompt) => `${prompt} (@general subagent)`))
})

test("the usage of a session is its own; the usage of its tree includes all descendants", async () => {
  const { scene, root, left, right, alone } = await familyScene({ price: { input: 2, output: 10 } })
  await using _ = scene
  const cost = (input: number, output: number) => (input * 2 + output * 10) / 1e6
  const whole = await root.usage()
  expect(whole).toMatchObject({ tokens: { input: 300, output: 30 }, tree: { sessions: 5 } })
  expect(whole.cost).toBeCloseTo(cost(300, 30), 12)
  expect(whole.tree.tokens).toMatchObject({ input: 73_300, output: 7330 })
  expect(whole.tree.cost).toBeCloseTo(cost(73_300, 7330), 12)
  expect(await left.usage()).toMatchObject({
    tokens: { input: 3000, output: 300 },
    tree: { sessions: 3, tokens: { input: 33_000, output: 3300 } },
  })
  const { tokens, tree } = await right.usage()
  expect(tree).toMatchObject({ sessions: 1, tokens })
  expect((await alone.usage()).tree.tokens).toMatchObject({ input: 7, output: 7 })
})

test("archiving a session archives the whole tree, and restoring it restores the whole tree", async () => {
  const { scene, root, left, alone } = await familyScene()
  await using _ = scene
  const { sessions } = scene.stemma
  const archivedIn = async (id: string) =>
    (await sessions.tree(id)).filter(({ time }) => time.archived !== undefined).length
  await sessions.archive(root.id)
  expect(await archivedIn(root.id)).toBe(5)
  expect(await archivedIn(alone.id)).toBe(0)
  await sessions.archive(root.id, { archived: false })
  expect(await archivedIn(root.id)).toBe(0)
  await sessions.archive(left.id)
  expect(await archivedIn(root.id)).toBe(3)
})

test("removing a session removes its descendants, and no sibling or ancestor", async () => {
  const { scene, root, left, right, leftLeaf, otherLeaf, alone } = await familyScene()
  await using _ = scene
  const { sessions } = scene.stemma
  await sessions.remove(left.id)
  for (const gone of [left, leftLeaf, otherLeaf]) {
    await expect(sessions.get(gone.id)).rejects.toMatchObject({ code: "not_found" })
    await expect(gone.messages()).rejects.toMatchObject({ code: "not_found" })
  }
  expect((await sessions.tree(root.id)).map(({ id }) => id)).toEqual([root.id, right.id])
  expect((await root.prompt("Still there?")).text).toBe("Yes.")
  await sessions.remove(root.id)
  await expect(sessions.get(right.id)).rejects.toMatchObject({ code: "not_found" })
  expect((await sessions.list()).items.map(({ id }) => id)).toEqual([alone.id])
})

test("a running child can be removed: its parent gets an error and continues, and so does its sibling", async () => {
  await using scene = await runScene({
    config: { task: { depth: 2 }, agent: { nesting } },
    script: answersTo({
      Go: [{ calls: [task("stuck", { agent: "nesting" }), task("works")] }, { text: "I went on." }],
      stuck: [{ calls: [task("leaf")] }],
      leaf: [never],
      works: [{ text: "Worked." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("the grandchild works", () => requestsFor(scene, "leaf").length > 0)
  const [stuck] = await childrenOf(scene, session)
  await scene.stemma.sessions.remove(stuck!.id)
  expect((await run).text).toBe("I went on.")
  const [first, second] = await results(session)
  expect(first).toContain(stuck!.id)
  expect(second).toMatch(/^Worked\./)
  expect(await scene.stemma.sessions.tree(session.id)).toHaveLength(2)
  await assertValid(session)
})

test("a parent can be archived or removed together with its running child", async () => {
  await using scene = await runScene({
    script: answersTo({ Go: [{ calls: [task("stuck")] }], stuck: [never] }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const child = await workingChild(scene, session, "stuck")
  await scene.stemma.sessions.archive(session.id)
  expect((await child.info()).time.archived).toBeGreaterThan(0)
  expect(scene.stemma.status(child.id).type).toBe("busy")
  await scene.stemma.sessions.remove(session.id)
  // The answer may have been sealed as aborted just before the session was removed.
  const end = await run.then(
    ({ message }) => message.finish,
    (error: unknown) => (StemmaError.is(error, "not_found") ? "not_found" : error),
  )
  expect(["aborted", "not_found"]).toContain(end)
  for (const { id } of [session, child]) {
    await expect(scene.stemma.sessions.get(id)).rejects.toMatchObject({ code: "not_found" })
    await until("nothing runs", () => scene.stemma.status(id).type === "idle")
  }
  expect((await scene.stemma.sessions.list()).items).toEqual([])
})
