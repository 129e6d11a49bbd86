import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createID, type HistoryItem, type SessionHandle, type StemmaEvent } from "../../src/index.ts"
import { startChild } from "../support/child-process.ts"
import type { ShellGo } from "../support/children/shell-child.ts"
import { assertValid, partsOf, type RunScene, runScene, until } from "../support/run-scene.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

/** The command ends by itself when the process that runs it is gone. */
const waits = "echo begun; while kill -0 $PPID 2>/dev/null; do sleep 0.05; done"

function callOf(item: HistoryItem) {
  const [part] = partsOf([item], "tool")
  return part!
}

async function running(session: SessionHandle): Promise<void> {
  await until("the command runs", async () => {
    const last = (await session.messages({ last: 1 }))[0]
    const part = last?.parts.find(({ type }) => type === "tool")
    return part?.type === "tool" && part.state.status === "running" && part.state.output === "begun\n"
  })
}

/** The context of the model's last request. */
function shown({ model }: RunScene) {
  return model.requests.at(-1)!.messages
}

test("a person's command runs without a model, and the next model call sees the command and its output", async () => {
  await using scene = await runScene({ script: [{ text: "I see." }] })
  const session = await scene.stemma.sessions.create()
  const messageID = createID("message", Date.now())
  const item = await session.shell("echo hello; exit 3", { messageID })
  expect(scene.model.requests).toHaveLength(0)
  expect(item).toMatchObject({
    sealed: true,
    message: { role: "assistant", finish: "stop", parentID: messageID, providerID: "scripted", modelID: "m" },
  })
  const { tool, state } = callOf(item)
  expect(tool).toBe("bash")
  expect(state).toMatchObject({
    status: "completed",
    input: { command: "echo hello; exit 3" },
    output: "hello\nexit code 3",
    metadata: { exit: 3 },
  })
  const items = await session.messages()
  expect(items).toHaveLength(2)
  expect(items[0]).toMatchObject({ sealed: true, message: { id: messageID, role: "user", agent: "build" } })
  expect(items[0]!.parts).toMatchObject([{ type: "text", synthetic: true }])
  expect(items[1]!.parts.map(({ type }) => type)).toEqual(item.parts.map(({ type }) => type))

  expect((await session.prompt("What did it print?")).text).toBe("I see.")
  expect(shown(scene)).toMatchObject([
    { role: "user", content: [{ type: "text", text: expect.stringContaining("ran this command by hand") }] },
    { role: "assistant", content: [{ type: "tool-call", tool: "bash" }] },
    { role: "tool", content: [{ type: "tool-result", output: "hello\nexit code 3", isError: false }] },
    { role: "user", content: [{ type: "text", text: "What did it print?" }] },
  ])
  await assertValid(session)
})

test("a revert undoes the file changes of a command, and unrevert restores them", async () => {
  await using scene = await runScene({ git: true, files: { "a.txt": "before\n" } })
  const session = await scene.stemma.sessions.create()
  const text = async () => readFile(join(scene.directory, "a.txt"), "utf8")
  const item = await session.shell("echo after > a.txt")
  expect(partsOf([item], "patch")).toMatchObject([{ files: ["a.txt"] }])
  expect((await session.info()).summary).toMatchObject({ files: 1, diffs: [{ file: "a.txt" }] })
  const mark = { messageID: (item.message as { parentID: string }).parentID }
  expect((await scene.stemma.sessions.revert(session.id, mark)).files).toEqual(["a.txt"])
  expect(await text()).toBe("before\n")
  await scene.stemma.sessions.unrevert(session.id)
  expect(await text()).toBe("after\n")
})

test("a command on a reverted session applies the revert", async () => {
  await using scene = await runScene()
  const session = await scene.stemma.sessions.create()
  await session.shell("echo one")
  const second = await session.shell("echo two")
  await scene.stemma.sessions.revert(session.id, { messageID: second.message.id })
  const third = await session.shell("echo three")
  expect(third.position).toBe(4)
  const outputs = partsOf(await session.messages(), "tool").map(({ state }) => state)
  expect(outputs).toMatchObject([{ output: "one\n" }, { output: "three\n" }])
  expect((await session.info()).revert).toBeUndefined()
})

test("a command runs where rules ask; where they deny it is refused with nothing written", async () => {
  await using scene = await runScene({
    files: { ".env": "KEY=1" },
    config: { permission: { bash: { "*": "ask", "rm *": "deny" }, edit: "ask", read: { "*.key": "deny" } } },
  })
  const session = await scene.stemma.sessions.create({ permission: { bash: { "touch *": "deny" } } })
  const before = await session.info()
  await writeFile(join(scene.data, "token"), "the-token-of-the-server")
  const secrets = [`cat ${join(scene.data, "token")}`, `cd ${scene.data} && cat token`]
  for (const command of ["rm -rf x", "echo a; rm x", "touch x", "cat server.key", ...secrets]) {
    await expect(session.shell(command), command).rejects.toMatchObject({ code: "denied" })
  }
  expect(await session.info()).toEqual(before)
  expect(scene.stemma.status(session.id)).toEqual({ type: "idle" })
  const item = await session.shell("echo made > made.txt; cat made.txt .env; echo x > .git-is-no-directory")
  expect(callOf(item).state).toMatchObject({ status: "completed", output: "made\nKEY=1" })
  expect(await scene.stemma.permissions.open()).toEqual([])
})

test("a command is refused if the agent lacks the tool or a parent's rules deny it", async () => {
  await using scene = await runScene({ config: { agent: { quiet: { tools: { bash: false } } } } })
  const { sessions } = scene.stemma
  const session = await sessions.create()
  await expect(session.shell("echo a", { agent: "quiet" })).rejects.toMatchObject({ code: "denied" })
  await expect(session.shell("echo a", { agent: "nobody" })).rejects.toMatchObject({ code: "invalid" })
  const parent = await sessions.create({ permission: { bash: { "echo *": "deny" } } })
  const child = await sessions.create({ parentID: parent.id })
  await expect(child.shell("echo a")).rejects.toMatchObject({ code: "denied" })
  expect(await session.messages()).toEqual([])
})

test("a command has no keys and tokens in its environment", async () => {
  await using scene = await runScene({
    env: { PATH: process.env.PATH, HOME: "/tmp", OPENAI_API_KEY: "sk-very-secret-key", PLAIN: "plain" },
  })
  const session = await scene.stemma.sessions.create()
  const item = await session.shell("env")
  const { state } = callOf(item)
  expect(state).toMatchObject({ output: expect.stringContaining("PLAIN=plain") })
  expect(JSON.stringify(await session.messages())).not.toContain("sk-very-secret")
})

test("long output is cut and stored whole as a blob", async () => {
  await using scene = await runScene()
  const session = await scene.stemma.sessions.create()
  const { state } = callOf(await session.shell("seq 1 5000"))
  if (state.status !== "completed") throw new Error(state.status)
  const blob = await scene.stemma.store.blobs.get(state.outputBlob!.slice("blob:".length))
  expect(Buffer.from(blob).toString().split("\n")).toHaveLength(5001)
  expect(state.output.length).toBeLessThan(30_000)
})

test("while a command runs the session is busy, its output is live, other commands are refused and prompts wait", async () => {
  await using scene = await runScene({ script: [{ text: "Answered." }] })
  const { stemma } = scene
  const session = await stemma.sessions.create()
  const events: StemmaEvent[] = []
  const listening = new AbortController()
  const listen = async () => {
    for await (const event of session.events({ signal: listening.signal })) events.push(event)
  }
  const heard = listen()
  const run = session.shell("echo begun; until [ -e go ]; do sleep 0.05; done; echo over")
  await running(session)
  expect(stemma.status(session.id)).toEqual({ type: "busy" })
  await expect(session.shell("echo b")).rejects.toMatchObject({ code: "conflict" })
  await expect(session.append({ role: "user", text: "a" })).rejects.toMatchObject({ code: "conflict" })
  const prompt = session.prompt("And?")
  await prompt.admitted
  await writeFile(join(scene.directory, "go"), "")
  expect(callOf(await run).state).toMatchObject({ output: "begun\nover\n" })
  expect((await prompt).text).toBe("Answered.")
  const roles = (await session.messages()).map(({ message }) => message.role)
  expect(roles).toEqual(["user", "assistant", "user", "assistant"])
  await until("it is idle again", () => stemma.status(session.id).type === "idle")
  listening.abort()
  await heard.catch(() => {})
  const deltas = events.filter(({ type }) => type === "message.part.delta")
  expect(deltas[0]?.properties).toMatchObject({ field: "output", delta: "begun\n", offset: 0 })
  const statuses = events.flatMap((event) =>
    event.type === "session.status" ? [event.properties.status.type] : [],
  )
  expect(statuses.slice(0, 2)).toEqual(["busy", "idle"])
})

test("a session that is answering a prompt refuses a command", async () => {
  await using scene = await runScene({ script: [{ text: ["a", "b", "c"], deltaDelayMs: 500 }] })
  const session = await scene.stemma.sessions.create()
  const prompt = session.prompt("Go")
  await until("it is asked", () => scene.model.requests.length === 1)
  await expect(session.shell("echo a")).rejects.toMatchObject({ code: "conflict" })
  await session.abort()
  await prompt
  expect(callOf(await session.shell("echo a")).state).toMatchObject({ output: "a\n" })
})

test("an abort from this or another process ends a command, and the session works afterwards", async () => {
  await using scene = await runScene({ script: [{ text: "Answered." }] })
  const other = await scene.again()
  for (const stemma of [scene.stemma, other]) {
    const session = await scene.stemma.sessions.create()
    const run = session.shell(waits)
    await running(session)
    await (await stemma.sessions.get(session.id)).abort("Enough.")
    const item = await run
    expect(item.message).toMatchObject({ finish: "aborted", error: { name: "MessageAbortedError" } })
    expect(JSON.stringify(callOf(item).state)).toContain("aborted")
    await assertValid(session)
    expect(await session.shell("echo next")).toMatchObject({ message: { finish: "stop" } })
  }
})

test("a messageID of the history or of a waiting prompt is a conflict, and nothing runs", async () => {
  await using scene = await runScene()
  const session = await scene.stemma.sessions.create()
  const messageID = createID("message", Date.now())
  await session.shell("echo x >> ran.txt", { messageID })
  await expect(session.shell("echo x >> ran.txt", { messageID })).rejects.toMatchObject({ code: "conflict" })
  expect(await readFile(join(scene.directory, "ran.txt"), "utf8")).toBe("x\n")
  expect(await session.messages()).toHaveLength(2)
  const { store } = scene.stemma
  const id = createID("message", Date.now())
  const model = { providerID: "scripted", modelID: "m" }
  await store.admit({
    id,
    sessionID: session.id,
    time: 1,
    type: "prompt",
    delivery: "queue",
    message: { id, role: "user", time: { created: 1 }, agent: "build", model },
    parts: [{ id: createID("part", Date.now()), type: "text", text: "Hi" }],
  })
  await expect(session.shell("echo x >> ran.txt", { messageID: id })).rejects.toMatchObject({
    code: "conflict",
  })
  expect(await readFile(join(scene.directory, "ran.txt"), "utf8")).toBe("x\n")
})

test("closing twice ends a command as interrupted, and it is not continued", async () => {
  await using scene = await runScene({ script: [{ text: "Asked once." }, { text: "Asked twice." }] })
  const session = await scene.stemma.sessions.create()
  const run = session.shell(waits)
  await running(session)
  const closing = scene.stemma.close()
  await expect(session.shell("echo b")).rejects.toMatchObject({ code: "unavailable" })
  await scene.stemma.close()
  expect((await run).message).toMatchObject({ finish: "interrupted", error: { name: "InterruptedError" } })
  await closing
  const server = await scene.again({ recover: true })
  const again = await server.sessions.get(session.id)
  const answer = await again.prompt("And now?", { delivery: "queue" })
  expect(answer.message.finish).toBe("stop")
  expect(await again.messages()).toHaveLength(4)
  expect(scene.model.requests).toHaveLength(1)
})

test("a command whose process was killed becomes an interrupted call, and no model is asked to continue", async () => {
  await using scene = await runScene({ script: [{ text: "Asked at last." }] })
  await using temporary = await temporaryDirectory()
  const sessionID = createID("session", Date.now())
  {
    await using child = startChild("shell-child.ts", { output: join(temporary.path, "child") })
    await child.ready
    const { directory, data } = scene
    child.process.send({ directory, data, sessionID, command: waits } satisfies ShellGo)
    await until("the session is there", async () =>
      scene.stemma.store.session(sessionID).then(
        () => true,
        () => false,
      ),
    )
    await running(await scene.stemma.sessions.get(sessionID))
    child.process.kill("SIGKILL")
    await child.ended
  }
  const server = await scene.again({ recover: true })
  const session = await server.sessions.get(sessionID)
  await until("it is repaired", async () => (await session.messages())[1]?.sealed === true)
  const [, item] = await session.messages()
  expect(item!.message).toMatchObject({ finish: "interrupted", error: { name: "InterruptedError" } })
  expect(callOf(item!).state).toMatchObject({
    status: "error",
    error: expect.stringContaining("interrupted"),
  })
  await until("it is idle", () => server.status(sessionID).type === "idle")
  expect(scene.model.requests).toHaveLength(0)
  expect((await session.prompt("What happened?", { model: "scripted/m" })).text).toBe("Asked at last.")
  expect(await session.messages()).toHaveLength(4)
  await assertValid(session)
})
