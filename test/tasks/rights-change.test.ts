import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { z } from "zod"
import type { Tool } from "../../src/index.ts"
import { files, filesIn, worker } from "../support/rights-scene.ts"
import { runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, results, task } from "../support/task-script.ts"

const refused = expect.stringMatching(/^Not allowed: |^There is no tool /)
const python = { tool: "bash", input: { command: `python3 -c 'open("file-0.txt", "w")'` } }
const write = { tool: "write", input: { filePath: "new.txt", content: "x" } }
const yes = async () => ({ reply: "once" as const })

/** Needs no permission, so that only a rule or switch for the tool itself can stop it. */
function countingTool(): Tool & { runs: number } {
  const tool = {
    name: "count",
    description: "Counts.",
    input: z.object({}),
    replay: "never" as const,
    writes: false,
    runs: 0,
    wants: async () => [],
    execute: async () => ({ title: "count", output: `${++tool.runs}` }),
  }
  return tool
}

test.each(["parent", "grandparent", "child itself"])(
  "a rule that is added while a child's model is answering applies to its next call: in the %s",
  async (where) => {
    const strict = Promise.withResolvers<void>()
    const thinks = Promise.withResolvers<void>()
    await using scene = await runScene({
      files,
      onPermission: yes,
      config: { task: { depth: 2 }, agent: { worker } },
      script: answersTo({
        Go: [{ calls: [task("Pass on", { agent: "worker" })] }, { text: "Done." }],
        "Pass on": [{ calls: [task("Change", { agent: "worker" })] }, { text: "Done." }],
        Change: [
          async () => {
            thinks.resolve()
            await strict.promise
            return { calls: [python, write] }
          },
          { text: "Done." },
        ],
      }),
    })
    const root = await scene.stemma.sessions.create()
    const run = root.prompt("Go")
    await thinks.promise
    const [middle] = await childrenOf(scene, root)
    const [child] = await childrenOf(scene, middle!)
    const session = where === "parent" ? middle! : where === "grandparent" ? root : child!
    await scene.stemma.sessions.update(session.id, { permission: { edit: "deny" } })
    strict.resolve()
    await run
    expect(await results(child!)).toEqual([refused, refused])
    expect(await filesIn(scene.directory)).toEqual(files)
  },
)

test("a new deny in the config applies to every session at once", async () => {
  await using scene = await runScene({
    files,
    onPermission: yes,
    config: { agent: { worker } },
    script: answersTo({
      Go: [{ calls: [task("Change", { agent: "worker" })] }, { text: "Done." }],
      Change: [
        async () => {
          // Stricter rules of a project apply without trust.
          const config = JSON.stringify({ permission: { edit: "deny" } })
          await writeFile(join(scene.directory, "stemma.json"), config)
          const project = await scene.stemma.project()
          await until("the config is read again", async () => {
            const { rules } = (await project.setup()).loaded
            return rules.some(({ permission, action }) => permission === "edit" && action === "deny")
          })
          return { calls: [python, write] }
        },
        { text: "Done." },
      ],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  expect(await results(child!)).toEqual([refused, refused])
  expect(await filesIn(scene.directory)).toEqual(files)
})

test("a tool that needs no permission is still refused in a child if an ancestor denies it or switches it off", async () => {
  const count = countingTool()
  await using scene = await runScene({
    tools: [count],
    config: {
      agent: {
        worker,
        off: { tools: { count: false } },
        denied: { permission: { count: "deny" } },
      },
    },
    script: answersTo({
      Go: [{ calls: [task("Count", { agent: "worker" })] }, { text: "Done." }],
      Count: [{ calls: [{ tool: "count", input: {} }] }, { text: "Done." }],
    }),
  })
  const told = async (agent: string, tools?: Record<string, boolean>) => {
    const session = await scene.stemma.sessions.create()
    await session.prompt("Go", { agent, ...(tools && { tools }) })
    const [child] = await childrenOf(scene, session)
    return results(child!)
  }
  expect(await told("off")).toEqual([refused])
  expect(await told("denied")).toEqual([refused])
  expect(await told("build", { count: false })).toEqual([refused])
  expect(await told("build")).toEqual(["1"])
  // A child is not offered a tool that it cannot use.
  const offered = scene.model.requests
    .filter(({ messages }) => JSON.stringify(messages[0]).includes("Count"))
    .map(({ tools }) => tools.some(({ name }) => name === "count"))
  expect(offered).toEqual([false, false, false, false, false, false, true, true])
})

test("such a tool does not run if an ancestor denies it while the child's model is answering", async () => {
  const count = countingTool()
  const parent = Promise.withResolvers<string>()
  await using scene = await runScene({
    tools: [count],
    config: { agent: { worker } },
    script: answersTo({
      Go: [{ calls: [task("Count", { agent: "worker" })] }, { text: "Done." }],
      Count: [
        async () => {
          await scene.stemma.sessions.update(await parent.promise, { permission: { count: "deny" } })
          return { calls: [{ tool: "count", input: {} }] }
        },
        { text: "Done." },
      ],
    }),
  })
  const session = await scene.stemma.sessions.create()
  parent.resolve(session.id)
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  expect(await results(child!)).toEqual(["Not allowed: the tool count is switched off."])
  expect(count.runs).toBe(0)
})

test("a stricter rule of the child's agent or session applies even if its parent may, also while the child runs", async () => {
  const child = Promise.withResolvers<string>()
  await using scene = await runScene({
    files,
    onPermission: yes,
    config: { agent: { worker, careful: { mode: "subagent", permission: { edit: "deny" } } } },
    script: answersTo({
      Go: [{ calls: [task("Change", { agent: "careful" })] }, { text: "Done." }],
      "Go again": [{ calls: [task("Change later", { agent: "worker" })] }, { text: "Done." }],
      Change: [{ calls: [python, write] }, { text: "Done." }],
      "Change later": [
        { calls: [{ tool: "read", input: { filePath: "file-0.txt" } }] },
        async () => {
          await scene.stemma.sessions.update(await child.promise, { permission: { edit: "deny" } })
          return { calls: [python, write] }
        },
        { text: "Done." },
      ],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [careful] = await childrenOf(scene, session)
  expect(await results(careful!)).toEqual([refused, refused])
  const run = session.prompt("Go again")
  await until("there are two children", async () => (await childrenOf(scene, session)).length === 2)
  const [, later] = await childrenOf(scene, session)
  child.resolve(later!.id)
  await run
  expect((await results(later!)).slice(1)).toEqual([refused, refused])
  expect(await filesIn(scene.directory)).toEqual(files)
})

test("a session in the middle may be stricter than both its parent and its child", async () => {
  const careful = { mode: "subagent" as const, permission: { edit: "deny" as const }, tools: { task: true } }
  await using scene = await runScene({
    files,
    onPermission: yes,
    config: { task: { depth: 2 }, agent: { worker, careful } },
    script: answersTo({
      Go: [{ calls: [task("Pass on", { agent: "careful" })] }, { text: "Done." }],
      "Pass on": [{ calls: [task("Change", { agent: "worker" })] }, { text: "Done." }],
      Change: [{ calls: [python, write] }, { text: "Done." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [middle] = await childrenOf(scene, session)
  const [child] = await childrenOf(scene, middle!)
  expect(await results(child!)).toEqual([refused, refused])
  expect(await filesIn(scene.directory)).toEqual(files)
})
