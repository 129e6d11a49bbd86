import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { z } from "zod"
import { createScriptedModel, type ModelRequest, type Tool } from "../../src/index.ts"
import { assertValid, partsOf, type RunScene, runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, requestsFor, results, task } from "../support/task-script.ts"

function toolNames(request: ModelRequest | undefined): string[] {
  return request!.tools.map(({ name }) => name).sort()
}

function taskDescription({ model }: RunScene, n: number): string {
  return model.requests[n]!.tools.find(({ name }) => name === "task")!.description
}

/** Changes the user's config file, as an editor would. */
async function writeUserConfig(scene: RunScene, config: object): Promise<void> {
  const known = (await (await scene.stemma.project()).setup()).loaded
  const directory = join(dirname(scene.directory), ".config", "stemma")
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, "stemma.json"), JSON.stringify(config))
  await until("it is seen", async () => (await (await scene.stemma.project()).setup()).loaded !== known)
}

test("a task runs in a child session, and the child's last text is the result", async () => {
  await using scene = await runScene({
    files: { "a.txt": "alpha" },
    script: answersTo({
      "Find alpha for me.": [
        { calls: [task("Where is alpha?", { agent: "explore", description: "Find alpha" })] },
        { text: "It is in a.txt." },
      ],
      "Where is alpha?": [{ calls: [{ tool: "grep", input: { pattern: "alpha" } }] }, { text: "In a.txt." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Find alpha for me.")).text).toBe("It is in a.txt.")
  const [call] = partsOf(await session.messages(), "tool")
  expect(call).toMatchObject({ tool: "task", state: { status: "completed", title: "Find alpha" } })
  const [child] = await childrenOf(scene, session)
  const info = await child!.info()
  expect(info).toMatchObject({
    parentID: session.id,
    title: "Find alpha (@explore subagent)",
    agent: "explore",
    model: { providerID: "scripted", modelID: "m" },
    directory: (await session.info()).directory,
    projectID: (await session.info()).projectID,
    caller: { messageID: call!.messageID, agent: "build" },
  })
  expect(await results(session)).toEqual([
    `In a.txt.\n\n<task_metadata>\nsession_id: ${child!.id}\n</task_metadata>`,
  ])
  await assertValid(session)
  await assertValid(child!)
})

test("the tool lists the agents that are not primary, each with its tools", async () => {
  await using scene = await runScene({
    config: {
      experimental: { primary_tools: ["webfetch"] },
      agent: {
        reader: { mode: "subagent", description: "Reads\n  only.", tools: { "*": false, read: true } },
        both: { mode: "all", description: "Does both.", tools: { todowrite: true } },
        boss: { mode: "primary", description: "Never below." },
        ghost: { mode: "subagent", description: "Not shown.", hidden: true },
        mute: { mode: "subagent", tools: { "*": false } },
      },
    },
    script: [{ text: "Hello." }],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Hi")
  const lines = taskDescription(scene, 0).split("\n")
  const line = (name: string) => lines.find((one) => one.startsWith(`- ${name}: `))
  expect(line("reader")).toBe("- reader: Reads only. (Tools: read)")
  expect(line("mute")).toMatch(/\(Tools: none\)$/)
  expect(line("both")).toMatch(/^- both: Does both\. \(Tools: .*\btodowrite\b/)
  expect(line("both")).not.toMatch(/todoread|task|webfetch/)
  expect(line("explore")).toMatch(/\bgrep\b/)
  expect(line("explore")).not.toMatch(/Tools: .*\b(edit|write|todowrite|task)\b/)
  for (const name of ["build", "plan", "boss", "ghost", "title", "compaction"]) {
    expect(line(name), name).toBeUndefined()
  }
})

test("a change of the config changes the list of agents and which of them can be called", async () => {
  await using scene = await runScene({
    script: [
      { text: "One." },
      { text: "Two." },
      { calls: [task("Go", { agent: "later" })] },
      { text: "Done below." },
      { text: "Three." },
      { calls: [task("Go", { agent: "later" })] },
      { text: "Four." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("1")
  await writeUserConfig(scene, { agent: { later: { mode: "subagent", description: "Came later." } } })
  await session.prompt("2")
  expect(taskDescription(scene, 0)).not.toContain("later")
  expect(taskDescription(scene, 1)).toContain("- later: Came later.")
  await session.prompt("3")
  await writeUserConfig(scene, { agent: { later: { disable: true } } })
  await session.prompt("4")
  expect(taskDescription(scene, 5)).not.toContain("later")
  expect(await results(session)).toEqual([
    expect.stringMatching(/^Done below\./),
    expect.stringMatching(/^Unknown agent type: later\. There are: general, explore\.$/),
  ])
})

test("an agent that does not exist, is primary or is denied is an error with the known names", async () => {
  await using scene = await runScene({
    config: { permission: { task: { general: "deny" } } },
    script: [
      { calls: ["nobody", "build", "general", "title"].map((agent) => task("Go", { agent })) },
      { text: "I see." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("I see.")
  expect(await results(session)).toEqual(
    ["nobody", "build", "general", "title"].map((name) => `Unknown agent type: ${name}. There are: explore.`),
  )
  expect(await childrenOf(scene, session)).toEqual([])
})

test("a child has no todo tools, no task tool and no primary tools, unless its agent turns them on", async () => {
  const extra: Tool = {
    name: "extra",
    description: "Something that only the first one has.",
    input: z.object({}),
    replay: "safe",
    writes: false,
    wants: async () => [],
    execute: async () => ({ title: "extra", output: "extra" }),
  }
  const off = ["extra", "task", "todoread", "todowrite"]
  await using scene = await runScene({
    tools: [extra],
    config: {
      experimental: { primary_tools: ["extra"] },
      permission: { extra: "allow" },
      task: { depth: 2 },
      agent: { own: { mode: "subagent", tools: { todowrite: true, extra: true, task: true, bash: false } } },
    },
    script: answersTo({
      Go: [{ calls: [task("plain"), task("own", { agent: "own" })] }, { text: "Done." }],
      plain: [{ calls: off.map((tool) => ({ tool, input: {} })) }, { text: "None of them." }],
      own: [{ text: "Mine." }],
      "A person speaks": [{ text: "Yes?" }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const all = toolNames(requestsFor(scene, "Go")[0])
  expect(all).toEqual(expect.arrayContaining([...off, "bash"]))
  expect(toolNames(requestsFor(scene, "plain")[0])).toEqual(all.filter((name) => !off.includes(name)))
  expect(toolNames(requestsFor(scene, "own")[0])).toEqual(
    all.filter((name) => name !== "todoread" && name !== "bash"),
  )
  const [plain, own] = await childrenOf(scene, session)
  expect(await results(plain!)).toEqual(
    off.map((name) => expect.stringContaining(`There is no tool ${name}`)),
  )

  await plain!.prompt("A person speaks")
  await own!.prompt("A person speaks")
  await plain!.prompt("A person speaks", { tools: { todowrite: true } })
  const [toPlain, toOwn, widened] = requestsFor(scene, "A person speaks")
  expect(toolNames(toPlain)).toEqual(toolNames(requestsFor(scene, "plain")[0]))
  expect(toolNames(toOwn)).toEqual(toolNames(requestsFor(scene, "own")[0]))
  expect(toolNames(widened)).toContain("todowrite")
})

test("a child's model is that of its agent, else that of the calling message with its variant", async () => {
  const asked: string[] = []
  const script = answersTo({
    Go: [{ calls: [task("inherits"), task("has its own", { agent: "fast" })] }, { text: "Done." }],
    inherits: [{ text: "A" }],
    "has its own": [{ text: "B" }],
  })
  await using scene = await runScene({
    models: {
      scripted: (modelID) => {
        const model = createScriptedModel(
          (request) => {
            const said = request.messages[0]!.content[0]
            if (said?.type === "text") asked.push(`${said.text}: ${modelID} ${request.variant ?? "-"}`)
            return script(request)
          },
          { ref: { providerID: "scripted", modelID } },
        )
        return model
      },
    },
    config: { agent: { fast: { mode: "subagent", model: "scripted/quick" } } },
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go", { model: "scripted/chosen", variant: "high" })
  expect(asked.sort()).toEqual([
    "Go: chosen high",
    "Go: chosen high",
    "has its own: quick -",
    "inherits: chosen high",
  ])
  const [inherits, own] = await childrenOf(scene, session)
  expect((await inherits!.info()).model).toEqual({ providerID: "scripted", modelID: "chosen" })
  expect((await own!.info()).model).toEqual({ providerID: "scripted", modelID: "quick" })
  const answers = (await own!.messages()).filter(({ message }) => message.role === "assistant")
  expect(answers.map(({ message }) => message.role === "assistant" && message.modelID)).toEqual(["quick"])
})

test("calling an agent needs permission, which is refused without a person present", async () => {
  const script = answersTo({ Go: [{ calls: [task("Look")] }, { text: "Done." }], Look: [{ text: "Seen." }] })
  const config = { permission: { task: "ask" } } as const
  await using scene = await runScene({ config, script, interactive: true })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is asked", async () => (await session.questions()).length === 1)
  const [question] = await session.questions()
  expect(question).toMatchObject({ permission: "task", patterns: ["general"], always: ["general"] })
  expect((await scene.stemma.sessions.children(session.id)).items).toEqual([])
  await scene.stemma.permissions.reply(session.id, question!.id, { reply: "once" })
  await run
  expect(await results(session)).toEqual([expect.stringMatching(/^Seen\./)])

  const headless = await scene.again({ interactive: false })
  const alone = await headless.sessions.create()
  expect((await alone.prompt("Go")).text).toBe("Done.")
  expect(await results(alone)).toEqual([expect.stringContaining("no person is there to ask")])
  expect((await headless.sessions.children(alone.id)).items).toEqual([])
})

test("an agent whose model cannot be loaded is an error of that call alone", async () => {
  await using scene = await runScene({
    config: { agent: { lost: { mode: "subagent", model: "nobody/nothing" } } },
    script: answersTo({
      Go: [{ calls: [task("Look", { agent: "lost" }), task("Work")] }, { text: "Done." }],
      Work: [{ text: "Worked." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Done.")
  const [lost] = await childrenOf(scene, session)
  expect(await results(session)).toEqual([
    expect.stringMatching(/nobody[\s\S]*<task_metadata>/),
    expect.stringMatching(/^Worked\./),
  ])
  await until("nothing runs", () => scene.stemma.status(lost!.id).type === "idle")
  await assertValid(lost!)
})
