import { expect, test } from "vitest"
import type { SessionHandle } from "../../src/index.ts"
import { assertValid, partsOf, type RunScene, runScene, until } from "../support/run-scene.ts"
import {
  answersTo,
  childrenOf,
  requestsFor,
  results,
  shownIn,
  task,
  workingChild,
} from "../support/task-script.ts"

const done = { text: "Done." }
const never = { text: "Never.", delayMs: Number.POSITIVE_INFINITY }
const nesting = { mode: "subagent", tools: { task: true } } as const

async function endOf(session: SessionHandle) {
  await until("it has ended", async () => (await session.messages({ last: 1 }))[0]!.sealed)
  return (await session.messages({ last: 1 }))[0]!.message
}

async function expectIdle({ stemma }: RunScene, sessions: readonly SessionHandle[]): Promise<void> {
  const isIdle = ({ id }: SessionHandle) => stemma.status(id).type === "idle"
  await until("nothing runs", () => sessions.every(isIdle))
  for (const session of sessions) await assertValid(session)
}

test("an abort of a parent aborts all its descendants, and each of them can be prompted again", async () => {
  await using scene = await runScene({
    config: { task: { depth: 2 }, agent: { nesting } },
    script: answersTo({
      root: [{ calls: [task("middle", { agent: "nesting" }), task("side")] }],
      middle: [{ calls: [task("leaf"), task("other leaf")] }],
      leaf: [never],
      "other leaf": [{ calls: [{ tool: "bash", input: { command: "sleep 60" } }] }],
      side: [never],
      "Still there?": [{ text: "Yes." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("root")
  await until("all are at work", () =>
    ["leaf", "other leaf", "side"].every((prompt) => requestsFor(scene, prompt).length > 0),
  )
  await session.abort("Enough.")
  expect((await run).message).toMatchObject({ finish: "aborted", error: { data: { message: "Enough." } } })
  const [middle, side] = await childrenOf(scene, session)
  const leaves = await childrenOf(scene, middle!)
  const below = [middle!, side!, ...leaves]
  expect(below).toHaveLength(4)
  for (const one of below) {
    expect(await endOf(one)).toMatchObject({ finish: "aborted", error: { name: "MessageAbortedError" } })
  }
  await expectIdle(scene, [session, ...below])
  for (const result of [...(await results(session)), ...(await results(middle!))]) {
    expect(result).toMatch(/^aborted: /)
  }
  for (const one of [...below, session]) expect((await one.prompt("Still there?")).text).toBe("Yes.")
})

test("tasks that wait for a slot when their parent is aborted never start", async () => {
  await using scene = await runScene({
    config: { task: { concurrency: 1 } },
    script: answersTo({
      Go: [{ calls: [task("first"), task("second"), task("third")] }],
      first: [never],
      Next: [{ calls: [task("after")] }, done],
      after: [{ text: "There is a place." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await workingChild(scene, session, "first")
  await session.abort()
  await run
  expect((await results(session)).map((result) => result.split(":")[0])).toEqual(Array(3).fill("aborted"))
  expect((await session.prompt("Next")).text).toBe("Done.")
  const { items } = await scene.stemma.sessions.children(session.id)
  expect(items.map(({ title }) => title).sort()).toEqual([
    "after (@general subagent)",
    "first (@general subagent)",
  ])
})

test("at whatever moment a parent is aborted, none of its descendants continues", async () => {
  await using scene = await runScene({
    config: { task: { depth: 2 }, agent: { nesting } },
    script: answersTo({
      root: [{ calls: [task("middle", { agent: "nesting" }), task("leaf")] }],
      middle: [{ calls: [task("leaf")] }],
      leaf: [never],
    }),
  })
  for (let moment = 1; moment <= 40; moment += 3) {
    const session = await scene.stemma.sessions.create()
    const asked = requestsFor(scene, "leaf").length
    const events = scene.stemma.events()
    let count = 0
    const aborting = (async () => {
      for await (const _ of events) if (++count === moment) await session.abort()
    })()
    const run = session.prompt("root")
    await until(
      "the moment has come",
      () => count >= moment || requestsFor(scene, "leaf").length === asked + 2,
    )
    await events.return?.()
    await aborting
    await session.abort()
    expect((await run).message.finish, `moment ${moment}`).toBe("aborted")
    const tree = await scene.stemma.sessions.tree(session.id)
    await expectIdle(scene, await Promise.all(tree.map(({ id }) => scene.stemma.sessions.get(id))))
    for (const { id } of tree) expect(await scene.stemma.store.inbox(id), `moment ${moment}`).toEqual([])
  }
})

test("an abort of one child becomes an error result of its call, and its parent and sibling continue", async () => {
  await using scene = await runScene({
    config: { task: { depth: 2 }, agent: { nesting } },
    script: answersTo({
      Go: [{ calls: [task("stuck", { agent: "nesting" }), task("works")] }, { text: "I went on." }],
      stuck: [{ text: "I begin.", calls: [task("leaf")] }],
      leaf: [never],
      works: [{ text: "Worked." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("the grandchild works", () => requestsFor(scene, "leaf").length > 0)
  const [stuck] = await childrenOf(scene, session)
  const [leaf] = await childrenOf(scene, stuck!)
  await stuck!.abort("Not that one.")
  const reply = await run
  expect(reply.text).toBe("I went on.")
  expect(reply.error).toBeUndefined()
  const [first, second] = await results(session)
  expect(first).toContain("The agent was aborted: Not that one.")
  expect(first).toContain("I begin.")
  expect(first).toContain(`<task_metadata>\nsession_id: ${stuck!.id}\n</task_metadata>`)
  expect(second).toMatch(/^Worked\./)
  expect(requestsFor(scene, "Go")[1]!.messages.at(-1)).toMatchObject({
    content: [{ isError: true, output: first }, { isError: false }],
  })
  expect(await endOf(leaf!)).toMatchObject({ finish: "aborted" })
  await expectIdle(scene, [session, stuck!, leaf!])
})

test("a child can be aborted from another process", async () => {
  await using scene = await runScene({
    script: answersTo({ Go: [{ calls: [task("stuck")] }, { text: "I went on." }], stuck: [never] }),
  })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const child = await workingChild(scene, session, "stuck")
  await (await other.sessions.get(child.id)).abort("From elsewhere.")
  expect((await run).text).toBe("I went on.")
  expect(await results(session)).toEqual([expect.stringContaining("The agent was aborted: From elsewhere.")])
})

test("an abort from another process also reaches the descendants", async () => {
  await using scene = await runScene({
    script: answersTo({ Go: [{ calls: [task("stuck")] }], stuck: [never] }),
  })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const child = await workingChild(scene, session, "stuck")
  await (await other.sessions.get(session.id)).abort("From elsewhere.")
  expect((await run).message.finish).toBe("aborted")
  expect(await endOf(child)).toMatchObject({ finish: "aborted" })
  await expectIdle(scene, [session, child])
})

test("an abort closes the open question of a child", async () => {
  await using scene = await runScene({
    interactive: true,
    config: { permission: { edit: "ask" } },
    script: answersTo({
      Go: [{ calls: [task("write")] }],
      write: [{ calls: [{ tool: "write", input: { filePath: "new.txt", content: "new" } }] }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is asked", async () => (await session.questions()).length === 1)
  await session.abort()
  expect((await run).message.finish).toBe("aborted")
  await until("nobody is asked any more", async () => (await session.questions()).length === 0)
  const [child] = await childrenOf(scene, session)
  expect(await endOf(child!)).toMatchObject({ finish: "aborted" })
})

test("a person can steer a running child, and the parent gets the resulting answer", async () => {
  const gate = Promise.withResolvers<void>()
  await using scene = await runScene({
    script: answersTo({
      Go: [{ calls: [task("look left")] }, done],
      "look left": [
        async () => {
          await gate.promise
          return { text: "Left.", calls: [{ tool: "list", input: {} }] }
        },
      ],
      "No, look right": [{ text: "Right." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const child = await workingChild(scene, session, "look left")
  const steering = child.prompt("No, look right")
  await steering.admitted
  gate.resolve()
  expect((await steering).text).toBe("Right.")
  expect((await run).text).toBe("Done.")
  expect(await results(session)).toEqual([expect.stringMatching(/^Right\.\n/)])
  const [request] = requestsFor(scene, "No, look right")
  expect(request!.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"])
  expect(shownIn(requestsFor(scene, "Go"))).not.toContain("No, look right")
  expect(partsOf(await session.messages(), "text").map(({ text }) => text)).toEqual(["Go", "Done."])
  await assertValid(child)
})

test("a prompt that a person queues for a child is not part of the task's result, and the child remembers it later", async () => {
  const ids = { child: "" }
  const gate = Promise.withResolvers<void>()
  await using scene = await runScene({
    script: answersTo({
      Go: [{ calls: [task("look")] }, done],
      look: [() => gate.promise.then(() => ({ text: "Looked." }))],
      "And then?": [{ text: "Then nothing." }],
      Again: [() => ({ calls: [task("more", { session_id: ids.child })] }), done],
      more: [{ text: "More." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const child = await workingChild(scene, session, "look")
  ids.child = child.id
  const queued = child.prompt("And then?", { delivery: "queue" })
  await queued.admitted
  gate.resolve()
  await run
  expect(await results(session)).toEqual([expect.stringMatching(/^Looked\.\n/)])
  expect((await queued).text).toBe("Then nothing.")
  const known = (await session.info()).history.count
  expect((await session.messages()).length).toBe(known)
  await session.prompt("Again")
  expect(shownIn(requestsFor(scene, "more"))).toContain("Then nothing.")
  expect((await results(session))[1]).toMatch(/^More\.\n/)
})
