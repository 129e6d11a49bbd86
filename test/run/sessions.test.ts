import { join } from "node:path"
import { expect, test } from "vitest"
import { isDefaultTitle, type StemmaEvent } from "../../src/index.ts"
import { runScene, until } from "../support/run-scene.ts"

test("creating with the same id gives the same session, also at the same time and from another process", async () => {
  await using scene = await runScene()
  const other = await scene.again()
  const made = await Promise.all([
    scene.stemma.sessions.create({ id: "ses_mine" }),
    scene.stemma.sessions.create({ id: "ses_mine" }),
    other.sessions.create({ id: "ses_mine" }),
  ])
  expect(made.map(({ id }) => id)).toEqual(["ses_mine", "ses_mine", "ses_mine"])
  expect((await scene.stemma.sessions.list()).items).toHaveLength(1)
  await expect(scene.stemma.sessions.create({ id: "not an id" })).rejects.toMatchObject({ code: "invalid" })
})

test("a session is created with the given fields, and an invalid field creates none", async () => {
  await using scene = await runScene({
    files: { "notes.md": "Remember this.\n" },
    script: [{ text: "I know." }],
  })
  const { sessions } = scene.stemma
  const session = await sessions.create({
    key: "chat:1",
    title: "Mine",
    agent: "plan",
    model: "scripted/other",
    permission: { edit: { "*.md": "allow" } },
    maxHistory: 10,
    budget: 2,
    files: ["notes.md"],
  })
  expect(await session.info()).toMatchObject({
    key: "chat:1",
    title: "Mine",
    agent: "plan",
    model: { providerID: "scripted", modelID: "other" },
    permission: [{ permission: "edit", pattern: "*.md", action: "allow" }],
    maxHistory: 10,
    budget: 2,
  })
  await session.prompt("What do you know?")
  expect(JSON.stringify(scene.model.requests[0]!.messages)).toContain("Remember this.")
  for (const wrong of [
    { agent: "nobody" },
    { agent: "title" },
    { model: "no-slash" },
    { files: ["missing.md"] },
    { permission: { edit: "maybe" } },
    { maxHistory: 0 },
    { key: "chat:1", agent: "plan" },
  ]) {
    await expect(sessions.create(wrong as never)).rejects.toMatchObject({
      code: /invalid|not_found|conflict/,
    })
  }
  expect((await sessions.list()).items).toHaveLength(1)
})

test("the current session of a project or of a scope is created on first use and kept", async () => {
  await using scene = await runScene()
  const { sessions } = scene.stemma
  const [one, two] = await Promise.all([sessions.current(), sessions.current()])
  expect(one.id).toBe(two.id)
  const named = await sessions.current({ scope: "notes" })
  expect(named.id).not.toBe(one.id)
  const other = await scene.again()
  expect((await other.sessions.current({ scope: "notes" })).id).toBe(named.id)
  const fresh = await sessions.reset({ scope: "notes" })
  expect(fresh.id).not.toBe(named.id)
  expect((await sessions.current({ scope: "notes" })).id).toBe(fresh.id)
  expect((await sessions.get(named.id)).id).toBe(named.id)
})

test("an update sets only the given fields", async () => {
  await using scene = await runScene()
  const { sessions } = scene.stemma
  const session = await sessions.create({ budget: 1 })
  expect(isDefaultTitle((await session.info()).title)).toBe(true)
  await Promise.all([
    sessions.update(session.id, { title: "A title" }),
    sessions.update(session.id, { maxHistory: 7 }),
    sessions.update(session.id, { model: "scripted/x", budget: null }),
  ])
  const info = await session.info()
  expect(info).toMatchObject({ title: "A title", maxHistory: 7, model: { modelID: "x" } })
  expect(info.budget).toBeUndefined()
  expect((await session.setAgent("plan")).agent).toBe("plan")
  await expect(session.setAgent("nobody")).rejects.toMatchObject({ code: "invalid" })
  await expect(sessions.update(session.id, { wrong: 1 } as never)).rejects.toMatchObject({ code: "invalid" })
  await expect(sessions.get("ses_nowhere")).rejects.toMatchObject({ code: "not_found" })
})

test("touching moves a session to the front, and archiving can be undone", async () => {
  let now = 1_000_000
  await using scene = await runScene({ clock: { now: () => now++ } })
  const { sessions } = scene.stemma
  const old = await sessions.create()
  const young = await sessions.create()
  await sessions.touch(old.id)
  expect((await sessions.list()).items.map(({ id }) => id)).toEqual([old.id, young.id])
  await sessions.archive(old.id)
  expect((await sessions.list({ archived: false })).items.map(({ id }) => id)).toEqual([young.id])
  await sessions.archive(old.id, { archived: false })
  expect((await sessions.list({ archived: false })).items).toHaveLength(2)
})

test("a fork has the history up to a message, and both sessions continue independently", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const { sessions } = scene.stemma
  const session = await sessions.create({ title: "Source" })
  await session.prompt("One")
  const second = await session.prompt("Two")
  const fork = await sessions.fork(session.id, { messageID: second.message.parentID })
  expect(await fork.text()).toBe("[user] One\n\n[assistant] Answer 0.")
  await fork.prompt("Other")
  await session.prompt("Three")
  expect(await fork.text()).toContain("Other")
  expect(await session.text()).not.toContain("Other")
  expect((await fork.info()).forkedFrom).toMatchObject({ sessionID: session.id })
  const shown = scene.model.requests[2]!.messages.map(({ role }) => role)
  expect(shown).toEqual(["user", "assistant", "user"])
})

test("children are listed; removing a session removes them and stops their runs", async () => {
  await using scene = await runScene({ script: [{ text: "Slow.", delayMs: 20_000 }] })
  const { sessions } = scene.stemma
  const parent = await sessions.create()
  const child = await sessions.create({ parentID: parent.id })
  expect((await child.info()).title).toMatch(/^Child session - /)
  expect((await sessions.children(parent.id)).items.map(({ id }) => id)).toEqual([child.id])
  const run = parent.prompt("Go")
  await until("the model is asked", () => scene.model.requests.length === 1)
  const removal = await sessions.remove(parent.id)
  expect(removal.sessions.sort()).toEqual([child.id, parent.id].sort())
  await run.then(
    () => {},
    () => {},
  )
  await expect(sessions.get(parent.id)).rejects.toMatchObject({ code: "not_found" })
})

test("a session can be searched, counted and rendered as a transcript", async () => {
  await using scene = await runScene({
    files: { "a.txt": "alpha" },
    script: [
      { text: "Looking.", calls: [{ tool: "read", input: { filePath: "a.txt" } }] },
      { text: "It says 苹果 pie." },
    ],
  })
  const { sessions } = scene.stemma
  const session = await sessions.create()
  await session.prompt("Read it")
  const { hits } = await sessions.search("苹果")
  expect(hits).toMatchObject([{ sessionID: session.id, role: "assistant" }])
  expect(await sessions.stats(session.id)).toMatchObject({
    messages: { user: 1, assistant: 2, tool: 1 },
    calls: { read: 1 },
  })
  expect(await session.toolsUsed()).toEqual(["read"])
  expect(await session.contextSize()).toBeGreaterThan(5)
  expect(await session.transcript({ last: 1 })).toBe("[ASSISTANT] It says 苹果 pie.")
})

test("messages can be appended without a model: text, a tool result, parts; invalid ones are refused", async () => {
  await using scene = await runScene({ script: [{ text: "I know it all." }] })
  const session = await scene.stemma.sessions.create()
  await expect(session.append({ role: "assistant", text: "First?" })).rejects.toMatchObject({
    code: "invalid",
  })
  await session.append({ role: "user", text: "What is the time?" })
  await session.append({ role: "tool", tool: "clock", input: { zone: "UTC" }, output: "12:00" })
  await session.append({ role: "assistant", text: "It is noon." })
  expect(scene.model.requests).toHaveLength(0)
  await session.prompt("Thanks")
  const shown = scene.model.requests[0]!.messages
  expect(shown.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"])
  const open = {
    type: "tool",
    callID: "c",
    tool: "x",
    state: { status: "pending", input: {}, raw: "" },
  } as const
  await expect(session.append({ role: "assistant", parts: [open] })).rejects.toMatchObject({
    code: "invalid",
  })
  expect(await session.messages()).toHaveLength(5)
})

test("the title is first the beginning of the prompt, then the title agent's, unless a person sets one", async () => {
  await using scene = await runScene({
    config: { title: true },
    script: [
      { text: "One." },
      { for: "title", text: '"Counting to one"\n' },
      { text: "Two." },
      { for: "title", text: "Not this", delayMs: 50 },
    ],
  })
  const { sessions } = scene.stemma
  const session = await sessions.create()
  await session.prompt("Please count to one for me, would you be so kind")
  await until("the title agent was heard", async () => (await session.info()).title === "Counting to one")
  const named = await sessions.create()
  await named.prompt("Please count to two")
  await sessions.update(named.id, { title: "Mine" })
  await new Promise((resolve) => setTimeout(resolve, 150))
  expect((await named.info()).title).toBe("Mine")
})

test("AGENTS.md, the agent's prompt and the message's own system text reach the model", async () => {
  await using scene = await runScene({
    files: { "AGENTS.md": "Always whisper." },
    config: { agent: { poet: { mode: "primary", prompt: "You are a poet." } } },
    script: [{ text: "Hush." }],
  })
  const session = await scene.stemma.sessions.create({ agent: "poet" })
  await session.prompt("Hello", { system: "It is dark." })
  const { system } = scene.model.requests[0]!
  expect(system[0]).toContain("You are a poet.")
  expect(system.join("\n")).toContain("Always whisper.")
  expect(system.at(-1)).toBe("It is dark.")
})

test("maxHistory bounds what the model is shown, and the history stays whole", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const session = await scene.stemma.sessions.create({ maxHistory: 4 })
  for (let n = 0; n < 6; n++) await session.prompt(`Question ${n}`)
  const shown = scene.model.requests.at(-1)!.messages
  expect(shown.length).toBeLessThanOrEqual(4)
  expect(shown[0]!.role).toBe("user")
  expect(await session.messages()).toHaveLength(12)
  const cold = await scene.again()
  await (await cold.sessions.get(session.id)).prompt("Cold")
  expect(scene.model.requests.at(-1)!.messages.length).toBeLessThanOrEqual(4)
  await cold.sessions.update(session.id, { maxHistory: null })
  await (await cold.sessions.get(session.id)).prompt("All of it")
  expect(scene.model.requests.at(-1)!.messages).toHaveLength(15)
})

test("events of all sessions are delivered, and the iteration ends when Stemma is closed", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const events: StemmaEvent[] = []
  const reading = (async () => {
    for await (const event of scene.stemma.events()) events.push(event)
  })()
  await new Promise((resolve) => setTimeout(resolve, 20))
  const one = await scene.stemma.sessions.create()
  const two = await scene.stemma.sessions.create()
  await Promise.all([one.prompt("a"), two.prompt("b")])
  await until("both are idle", () => events.filter(({ type }) => type === "session.idle").length >= 2)
  const created = events.filter((event) => event.type === "session.created")
  expect(created.map((event) => event.properties.info.id).sort()).toEqual([one.id, two.id].sort())
  await scene.stemma.close()
  await reading
})

test("importing the package has no side effect, and `await using` closes", async () => {
  const scene = await runScene({ script: [{ text: "Bye." }] })
  await using _ = scene
  let store: { session(id: string): Promise<unknown> }
  {
    await using stemma = await scene.again({ store: { path: join(scene.data, "other.db") } })
    store = stemma.store
    await (await stemma.sessions.create()).prompt("Hello")
  }
  await expect(store.session("ses_x")).rejects.toMatchObject({ code: "unavailable" })
})
