import { expect, test } from "vitest"
import { attempts, files, filesIn, hostileScript, sureAttempts, worker } from "../support/rights-scene.ts"
import { runScene } from "../support/run-scene.ts"
import { childrenOf, results } from "../support/task-script.ts"

const refusal = /^Not allowed: |^There is no tool /
const careful = { mode: "all" as const, permission: { edit: "deny" as const } }
const handless = { mode: "all" as const, tools: { edit: false, write: false, bash: false } }

/** The ways to deny editing to a session, as options of the session and of its prompt. */
const denials = {
  "rules of the session": { session: { permission: { edit: "deny" as const } } },
  "the agent of the session": { session: { agent: "plan" } },
  "an agent of the config": { session: { agent: "careful" } },
  "the agent of the prompt, which is not the session's": { prompt: { agent: "plan" } },
  "the config": { config: { permission: { edit: "deny" as const, bash: "allow" as const } } },
  "tools that the agent switches off": { session: { agent: "handless" } },
  "tools that the prompt switches off": { prompt: { tools: { edit: false, write: false, bash: false } } },
  "all tools but task switched off": { prompt: { tools: { "*": false, task: true } } },
}

interface Denial {
  session?: { permission?: { edit: "deny" }; agent?: string }
  prompt?: { agent?: string; tools?: Record<string, boolean> }
  config?: object
}

function sceneOf({ config }: Denial = {}, calls = attempts) {
  return runScene({
    files,
    git: true,
    script: hostileScript(calls),
    // Every question is answered with `once`, so only a deny stops a change.
    onPermission: async () => ({ reply: "once" }),
    config: { task: { depth: 2 }, agent: { worker, careful, handless }, ...config },
  })
}

test("without a deny, a child changes files in each of these ways", async () => {
  await using scene = await sceneOf({}, sureAttempts)
  const session = await scene.stemma.sessions.create({ permission: { "*": "allow" } })
  await session.prompt("Go")
  const now = await filesIn(scene.directory)
  const unchanged = sureAttempts.filter(
    (_, n) => now[`file-${n}.txt`] === "one\n" && now[`new-file-${n}.txt`] === undefined,
  )
  expect(unchanged).toEqual([])
})

test.each(Object.entries<Denial>(denials))(
  "a child with every right of its own cannot change a file where its parent may not: by %s",
  async (_, denial) => {
    await using scene = await sceneOf(denial)
    const session = await scene.stemma.sessions.create(denial.session)
    expect((await session.prompt("Go", denial.prompt)).text).toBe("I see.")
    expect(await filesIn(scene.directory)).toEqual(files)
    const [child] = await childrenOf(scene, session)
    const tried = (await results(child!)).slice(1)
    expect(tried).toHaveLength(attempts.length)
    for (const told of tried) expect(told).toMatch(refusal)
    expect((await results(session))[0]).toContain("I tried everything.")
  },
)

test.each(Object.entries<Denial>(denials))(
  "a child of that child cannot either: by %s",
  async (_, denial) => {
    await using scene = await sceneOf(denial)
    const session = await scene.stemma.sessions.create(denial.session)
    expect((await session.prompt("Go deep", denial.prompt)).text).toBe("I see.")
    expect(await filesIn(scene.directory)).toEqual(files)
    const [child] = await childrenOf(scene, session)
    const [grandchild] = await childrenOf(scene, child!)
    const tried = (await results(grandchild!)).slice(1)
    expect(tried).toHaveLength(attempts.length)
    for (const told of tried) expect(told).toMatch(refusal)
  },
)
