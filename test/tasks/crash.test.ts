import { join } from "node:path"
import { expect, it } from "vitest"
import { createID } from "../../src/index.ts"
import { type Child, startChild } from "../support/child-process.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { pairProblems } from "../support/run/answers.ts"
import { recoveriesMax } from "../support/run/left-behind.ts"
import { isSoak, repeats, testSeed } from "../support/seed.ts"
import { taskAnswer } from "../support/tasks/answers.ts"
import { taskCrashLane } from "../support/tasks/crash-lane.ts"
import { linesOf, makeTaskScene, openTaskScene, taskPaths } from "../support/tasks/scene.ts"
import type { TaskGo, TaskLine, TaskProgress } from "../support/tasks/task-child.ts"
import { examineTree } from "../support/tasks/tree-problems.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("task crash")

const lanes = [
  { what: "at any moment", word: "manage", by: "time", processes: 1, kills: repeats({ test: 4, soak: 60 }) },
  {
    what: "around the important writes",
    word: "manage",
    by: "write",
    processes: 1,
    kills: repeats({ test: 4, soak: 60 }),
  },
  {
    what: "one of two processes",
    word: "manage",
    by: "time",
    processes: 2,
    kills: repeats({ test: 2, soak: 30 }),
  },
  {
    what: "agents that give tasks themselves",
    word: "direct",
    by: "write",
    processes: 1,
    kills: repeats({ test: 2, soak: 25 }),
  },
] as const

it.concurrent.each(lanes)(
  "tasks survive the kill of their process, again and again: $what",
  { timeout: isSoak ? 3_600_000 : 300_000 },
  async ({ what, kills, ...options }) => {
    await using directory = await temporaryDirectory()
    const report = await taskCrashLane({
      ...options,
      directory: directory.path,
      kills,
      seed: seed + lanes.findIndex((lane) => lane.what === what),
    })
    process.stdout.write(`${what}: ${JSON.stringify(report, undefined, 2)}\n`)
    expect(report.kills).toBe(kills)
  },
)

it.concurrent.each([
  { tool: "die-safe", calls: 1, what: "that may be repeated" },
  {
    tool: "die-never",
    calls: 1 + recoveriesMax,
    what: "that may not be repeated, but that the model makes again",
  },
])(
  "a child that kills its process each time is given up, and its parent gets an error: by a call $what",
  { timeout: 300_000 },
  async ({ tool, calls }) => {
    await using directory = await temporaryDirectory()
    await using server = await startModelServer({ fallback: taskAnswer })
    const scene = { root: directory.path, baseURL: server.baseURL }
    await makeTaskScene(scene)
    const sessionID = createID("session", Date.now())
    const messageID = createID("message", Date.now())
    const prompt = `risk 0 ${tool}`
    const answer = async (number: number): Promise<Child> => {
      const output = join(directory.path, `child-${number}`)
      const child = startChild("../tasks/task-child.ts", { output })
      await child.ready
      child.process.send({ scene, sessionID, messageID, prompt } satisfies TaskGo)
      return child
    }
    for (let death = 0; death <= recoveriesMax; death++) {
      await using child = await answer(death)
      expect(await child.ended).toMatchObject({ signal: "SIGKILL" })
      expect(child.lines()).toEqual([])
    }
    await using last = await answer(recoveriesMax + 1)
    const done = Promise.withResolvers<void>()
    last.process.on("message", (said: TaskProgress) => said === "done" && done.resolve())
    await Promise.race([done.promise, last.ended])
    expect(last.lines<TaskLine>()).toMatchObject([{ finish: "stop" }])
    last.process.kill()
    await last.ended

    await using stemma = await openTaskScene(scene)
    const { problems, results } = await examineTree(stemma, scene, { sessionID, messageID, prompt })
    expect(problems).toEqual([])
    expect(results).toEqual({ completed: 1, failed: 1, unbegun: 0 })
    const [child] = (await stemma.sessions.children(sessionID)).items.filter(({ title }) =>
      /perish/.test(title),
    )
    const items = await (await stemma.sessions.get(child!.id)).messages()
    expect(items.at(-1)?.message).toMatchObject({
      finish: "interrupted",
      error: { name: "InterruptedError" },
    })
    expect(items.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool"))).toHaveLength(calls)
    expect(linesOf(taskPaths(scene).deaths)).toHaveLength(1 + recoveriesMax)
    expect(server.requests.flatMap(({ body }) => pairProblems(body))).toEqual([])
  },
)
