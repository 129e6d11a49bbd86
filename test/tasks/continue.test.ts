import { expect, test } from "vitest"
import type { SessionHandle } from "../../src/index.ts"
import { manualClock } from "../support/clock.ts"
import { assertValid, runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, requestsFor, results, shownIn, task } from "../support/task-script.ts"

const done = { text: "Done." }

/** The context of a child, without its tools. */
function said(requests: ReturnType<typeof requestsFor>): string[] {
  return requests
    .at(-1)!
    .messages.flatMap(({ content }) => content.map((part) => (part.type === "text" ? part.text : part.type)))
}

async function seqOf(session: SessionHandle): Promise<number> {
  return (await session.info()).seq
}

test("a continued child sees its own history, and its result answers the new prompt", async () => {
  const ids = { child: "" }
  await using scene = await runScene({
    files: { "a.txt": "alpha" },
    config: { agent: { other: { mode: "subagent", prompt: "I am the other one." } } },
    script: answersTo({
      One: [{ calls: [task("first-prompt", { description: "Look around" })] }, done],
      "first-prompt": [{ calls: [{ tool: "read", input: { filePath: "a.txt" } }] }, { text: "first-result" }],
      Two: [() => ({ calls: [task("second-prompt", { session_id: ` ${ids.child}\n` })] }), done],
      "second-prompt": [{ calls: [{ tool: "list", input: {} }] }, { text: "second-result" }],
      Three: [() => ({ calls: [task("third-prompt", { session_id: ids.child, agent: "other" })] }), done],
      "third-prompt": [{ text: "third-result" }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("One")
  const [child] = await childrenOf(scene, session)
  ids.child = child!.id
  await session.prompt("Two")
  expect(said(requestsFor(scene, "second-prompt").slice(0, 1))).toEqual([
    "first-prompt",
    "tool-call",
    "tool-result",
    "first-result",
    "second-prompt",
  ])
  expect((await results(session))[1]).toMatch(/^second-result\n\n<task_metadata>\nsession_id: /)
  const [, second] = (await scene.stemma.sessions.get(session.id).then((one) => one.messages()))
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === "tool")
  expect(second).toMatchObject({ state: { metadata: { summary: [{ tool: "list" }] } } })

  await session.prompt("Three")
  expect(requestsFor(scene, "third-prompt")[0]!.system.join()).toContain("I am the other one.")
  expect(said(requestsFor(scene, "third-prompt"))).toEqual(
    expect.arrayContaining(["first-result", "second-result", "third-prompt"]),
  )
  expect((await scene.stemma.sessions.children(session.id)).items).toMatchObject([
    { id: child!.id, title: "Look around (@general subagent)", agent: "other" },
  ])
  await assertValid(child!)
})

test("a session_id of another session, or of none, starts a new child and leaks nothing", async () => {
  const wanted: string[] = []
  await using scene = await runScene({
    config: { task: { depth: 2 }, agent: { middle: { mode: "subagent", tools: { task: true } } } },
    script: answersTo({
      "foreign-root": [{ calls: [task("foreign-task")] }, { text: "foreign-done" }],
      "foreign-task": [{ text: "foreign-result" }],
      "own-root": [{ calls: [task("own-middle", { agent: "middle" })] }, { text: "own-done" }],
      "own-middle": [{ calls: [task("own-leaf")] }, { text: "own-middle-result" }],
      "own-leaf": [{ text: "own-leaf-result" }],
      Go: [() => ({ calls: wanted.map((id) => task("fresh", { session_id: id })) }), done],
      fresh: [{ text: "new here" }],
    }),
  })
  const foreign = await scene.stemma.sessions.create()
  await foreign.prompt("foreign-root")
  const [foreignChild] = await childrenOf(scene, foreign)
  const session = await scene.stemma.sessions.create()
  await session.prompt("own-root")
  const [middle] = await childrenOf(scene, session)
  const [leaf] = await childrenOf(scene, middle!)
  const others = [foreign, foreignChild!, leaf!]
  const before = await Promise.all(others.map(seqOf))
  const missing = ["ses_01arz3ndektsv4rrffq69g5fav", "no id", "../../etc/passwd", " "]
  wanted.push(...others.map(({ id }) => id), session.id, ...missing)

  expect((await session.prompt("Go")).text).toBe("Done.")
  const outputs = (await results(session)).slice(1)
  const { items } = await scene.stemma.sessions.children(session.id)
  const fresh = items.filter(({ title }) => title.startsWith("fresh")).map(({ id }) => id)
  expect(fresh).toHaveLength(wanted.length)
  const expected = fresh.map((id) => `new here\n\n<task_metadata>\nsession_id: ${id}\n</task_metadata>`)
  expect([...outputs].sort()).toEqual(expected.sort())
  const requests = requestsFor(scene, "fresh")
  expect(requests).toHaveLength(wanted.length)
  for (const { messages } of requests) {
    expect(messages).toEqual([{ role: "user", content: [{ type: "text", text: "fresh" }] }])
  }
  expect(shownIn(requestsFor(scene, "Go").slice(1))).not.toMatch(/foreign-(task|result|done)|own-leaf/)
  expect(await Promise.all(others.map(seqOf))).toEqual(before)
})

test("a child that is busy for another call or a person is not shared: the call gets an error", async () => {
  const ids = { child: "" }
  const gate = Promise.withResolvers<void>()
  await using scene = await runScene({
    script: answersTo({
      One: [{ calls: [task("first")] }, done],
      first: [{ text: "first-result" }],
      Two: [
        () => ({ calls: ["left", "right"].map((prompt) => task(prompt, { session_id: ids.child })) }),
        done,
      ],
      left: [{ text: "left-result", delayMs: 50 }],
      right: [{ text: "right-result", delayMs: 50 }],
      "A person asks": [() => gate.promise.then(() => ({ text: "For the person." }))],
      Three: [() => ({ calls: [task("third", { session_id: ids.child })] }), done],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("One")
  const [child] = await childrenOf(scene, session)
  ids.child = child!.id
  await session.prompt("Two")
  const busy = `Session ${child!.id} is busy with another task.`
  const both = (await results(session)).slice(1)
  expect(both.filter((result) => result.startsWith(busy))).toHaveLength(1)
  expect(both.filter((result) => /^(left|right)-result/.test(result))).toHaveLength(1)

  const person = child!.prompt("A person asks")
  await until("the child works", () => requestsFor(scene, "A person asks").length === 1)
  await session.prompt("Three")
  expect((await results(session)).at(-1)).toContain(busy)
  gate.resolve()
  expect((await person).text).toBe("For the person.")
  expect(await child!.text()).not.toContain("third")
  expect((await scene.stemma.sessions.children(session.id)).items).toHaveLength(1)
})

test("a child that has just answered is not busy: calls can continue it one after the other", async () => {
  const ids = { child: "" }
  const rounds = 12
  await using scene = await runScene({
    script: answersTo({
      Go: [
        { calls: [task("first")] },
        ...Array.from({ length: rounds }, (_, round) => ({ messages }: { messages: readonly unknown[] }) => {
          ids.child ||= /session_id: (\w+)/.exec(JSON.stringify(messages))![1]!
          return { calls: [task(`round ${round}`, { session_id: ids.child })] }
        }),
        done,
      ],
      first: [{ text: "first-result" }],
      ...Object.fromEntries(
        Array.from({ length: rounds }, (_, round) => [`round ${round}`, [{ text: `result ${round}` }]]),
      ),
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  expect((await results(session)).slice(1).map((result) => result.split("\n")[0])).toEqual(
    Array.from({ length: rounds }, (_, round) => `result ${round}`),
  )
  expect((await scene.stemma.sessions.children(session.id)).items).toHaveLength(1)
})

test("a child of the source session is forked under the fork, as it was at the time of the fork", async () => {
  const ids = { child: "" }
  const clock = manualClock()
  await using scene = await runScene({
    clock,
    script: answersTo({
      One: [{ calls: [task("first")] }, done],
      first: [{ text: "first-result" }],
      Later: [() => ({ calls: [task("later", { session_id: ids.child })] }), done],
      later: [{ text: "later-result" }],
      Fork: [() => ({ calls: [task("in the fork", { session_id: ids.child })] }), done],
      "in the fork": [{ text: "fork-result" }],
    }),
  })
  const source = await scene.stemma.sessions.create()
  await source.prompt("One")
  const [child] = await childrenOf(scene, source)
  ids.child = child!.id
  clock.advance(1000)
  const fork = await scene.stemma.sessions.fork(source.id)
  const forkOfFork = await scene.stemma.sessions.fork(fork.id)
  clock.advance(1000)
  await source.prompt("Later")
  const before = await seqOf(child!)

  for (const one of [fork, forkOfFork]) {
    expect((await one.prompt("Fork")).text).toBe("Done.")
    const { items } = await scene.stemma.sessions.children(one.id)
    expect(items).toMatchObject([{ parentID: one.id, title: "in the fork (@general subagent)" }])
    expect(items[0]!.id).not.toBe(child!.id)
    expect((await results(one)).at(-1)).toBe(
      `fork-result\n\n<task_metadata>\nsession_id: ${items[0]!.id}\n</task_metadata>`,
    )
    expect(said(requestsFor(scene, "in the fork"))).toEqual(["first", "first-result", "in the fork"])
  }
  expect(shownIn(requestsFor(scene, "in the fork"))).not.toContain("later")
  expect(await seqOf(child!)).toBe(before)
  expect((await scene.stemma.sessions.children(source.id)).items).toHaveLength(1)
})

test("a fork sees neither a child that was created after it nor an answer that was not finished at that time", async () => {
  const ids = { old: "", made: "" }
  const gate = Promise.withResolvers<void>()
  const clock = manualClock()
  await using scene = await runScene({
    clock,
    script: answersTo({
      One: [{ calls: [task("first")] }, done],
      first: [{ text: "first-result" }],
      Two: [() => ({ calls: [task("second", { session_id: ids.old })] }), { calls: [task("third")] }, done],
      second: [
        { text: "on-the-way", calls: [{ tool: "list", input: {} }] },
        () => gate.promise.then(() => ({ text: "after-the-fork" })),
      ],
      third: [{ text: "made-after-the-fork" }],
      Fork: [
        () => ({ calls: [task("in the fork", { session_id: ids.old })] }),
        () => ({ calls: [task("in the fork", { session_id: ids.made })] }),
        done,
      ],
      "in the fork": [{ text: "fork-result" }],
    }),
  })
  const source = await scene.stemma.sessions.create()
  await source.prompt("One")
  const [old] = await childrenOf(scene, source)
  ids.old = old!.id
  clock.advance(1000)
  const run = source.prompt("Two")
  await until("the child is in its second step", () => requestsFor(scene, "second").length === 2)
  clock.advance(1000)
  const fork = await scene.stemma.sessions.fork(source.id)
  clock.advance(1000)
  gate.resolve()
  await run
  ids.made = (await childrenOf(scene, source))[1]!.id

  expect((await fork.prompt("Fork")).text).toBe("Done.")
  const requests = requestsFor(scene, "in the fork")
  expect(requests).toHaveLength(2)
  expect(said(requests.slice(0, 1))).toEqual(["first", "first-result", "in the fork"])
  expect(said(requests.slice(1))).toEqual(["in the fork"])
  const below = await childrenOf(scene, fork)
  for (const child of below) await assertValid(child)
})
