import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect, test } from "vitest"
import { until } from "../support/run-scene.ts"
import {
  bearer,
  data,
  type OpencodeScene,
  opencodeScene,
  routeNames,
  watch,
} from "../support/server/opencode-scene.ts"

const text = (words: string) => [{ type: "text" as const, text: words }]

async function session(scene: OpencodeScene): Promise<string> {
  return (await data(scene.client.session.create({ directory: scene.directory }))).id
}

test("a session is listed, found by its title, renamed, given rules, archived and restored", async () => {
  await using scene = await opencodeScene({ git: true, files: { "sub/a.txt": "a\n" } })
  const { client, directory } = scene
  const model = { providerID: "scripted", id: "other" }
  const permission = [{ permission: "edit", pattern: "*", action: "deny" as const }]
  const made = await data(
    client.session.create({ directory, title: "Alpha", agent: "plan", model, permission }),
  )
  expect(made).toMatchObject({ title: "Alpha", agent: "plan", model, permission })
  const child = await data(client.session.create({ directory, parentID: made.id }))
  const below = await data(client.session.create({ directory: join(directory, "sub"), title: "Beta" }))

  const ids = async (query: Parameters<typeof client.session.list>[0]) =>
    (await data(client.session.list({ directory, ...query }))).map(({ id }) => id).sort()
  expect(await ids({})).toEqual([made.id, child.id].sort())
  expect(await ids({ roots: true })).toEqual([made.id])
  expect(await ids({ scope: "project" })).toEqual([made.id, child.id, below.id].sort())
  expect(await ids({ path: "sub" })).toEqual([below.id])
  expect(await ids({ search: "alph" })).toEqual([made.id])
  expect(await ids({ limit: 1 })).toHaveLength(1)
  expect(await ids({ start: Date.now() + 60_000 })).toEqual([])

  const sessionID = made.id
  const renamed = await data(client.session.update({ sessionID, title: "Gamma", permission: [] }))
  expect(renamed).toMatchObject({ title: "Gamma", permission: [] })
  const archived = await data(client.session.update({ sessionID, time: { archived: Date.now() } }))
  expect(archived.time.archived).toBeGreaterThan(0)
  expect((await data(client.session.get({ sessionID }))).time.archived).toBe(archived.time.archived)
  const back = await data(client.session.update({ sessionID, time: { archived: 0 } }))
  expect(back.time.archived).toBeUndefined()
})

test("messages come in pages from the end, each page with a link to the previous one", async () => {
  await using scene = await opencodeScene({ script: [] })
  const { client } = scene
  const sessionID = await session(scene)
  const handle = await scene.stemma.sessions.get(sessionID)
  for (const at of [1, 2, 3, 4, 5]) await handle.append({ role: "user", text: `${at}`, id: `msg_${at}` })
  const whole = await client.session.messages({ sessionID })
  expect(whole.data!.map(({ info }) => info.id)).toEqual(["msg_1", "msg_2", "msg_3", "msg_4", "msg_5"])
  expect(whole.response.headers.get("x-next-cursor")).toBeNull()

  const seen: string[][] = []
  for (let before: string | undefined; ; ) {
    const page = await client.session.messages({ sessionID, limit: 2, before })
    seen.push(page.data!.map(({ info }) => info.id))
    const next = page.response.headers.get("x-next-cursor")
    if (next === null) break
    const link = /^<(.+)>; rel="next"$/.exec(page.response.headers.get("link")!)![1]!
    const linked = await fetch(new URL(link, scene.url), { headers: bearer })
    before = next
    const again = await client.session.messages({ sessionID, limit: 2, before })
    expect(await linked.json()).toEqual(again.data)
  }
  expect(seen).toEqual([["msg_4", "msg_5"], ["msg_2", "msg_3"], ["msg_1"]])
  expect((await client.session.messages({ sessionID, before: "msg_9" })).response.status).toBe(400)

  const one = await data(client.session.message({ sessionID, messageID: "msg_3" }))
  expect(one).toMatchObject({ info: { id: "msg_3", sessionID }, parts: [{ type: "text", text: "3" }] })
  expect((await client.session.message({ sessionID, messageID: "msg_9" })).response.status).toBe(404)
})

test("a prompt with noReply only adds a message, with its files", async () => {
  await using scene = await opencodeScene({ files: { ".env": "KEY=1\n" } })
  const { client, directory } = scene
  const sessionID = await session(scene)
  const pixel = `data:image/png;base64,${Buffer.from("\x89PNG\r\n\x1a\n....", "latin1").toString("base64")}`
  const file = { type: "file" as const, mime: "image/png", filename: "dot.png", url: pixel }
  const added = await data(
    client.session.prompt({ sessionID, noReply: true, parts: [...text("Know this"), file] }),
  )
  expect(added.info).toMatchObject({ role: "user" })
  expect(added.parts).toMatchObject([
    { type: "text", text: "Know this" },
    { type: "file", url: pixel },
  ])
  const [item] = (await scene.stemma.store.history(sessionID)).items
  expect(item!.parts[1]).toMatchObject({ url: expect.stringMatching(/^blob:[0-9a-f]{64}$/) })
  expect(scene.model.requests).toEqual([])

  const secret = { type: "file" as const, mime: "text/plain", url: `file://${directory}/.env` }
  const refused = await client.session.prompt({ sessionID, noReply: true, parts: [secret] })
  expect(refused.response.status).toBe(403)
  expect((await client.session.promptAsync({ sessionID, noReply: true, parts: text("More") })).error).toBe(
    undefined,
  )
  expect(await data(client.session.messages({ sessionID }))).toHaveLength(2)
})

test("a directory in a prompt becomes a text that lists its files, without files that may not be read", async () => {
  await using scene = await opencodeScene({
    files: { "sub/x.txt": "1", "sub/.env": "KEY=1", "sub/more/y.txt": "2", "private/z.txt": "3" },
    config: { permission: { read: { "private*": "deny" } } },
    script: () => ({ text: "Seen." }),
  })
  const { client, directory } = scene
  const sessionID = await session(scene)
  const mime = "application/x-directory"
  const part = (path: string) => ({ type: "file" as const, mime, url: pathToFileURL(path).href })
  const sub = part(join(directory, "sub"))
  await data(client.session.prompt({ sessionID, parts: [...text("Look"), sub] }))
  await data(client.session.prompt({ sessionID, noReply: true, parts: [{ ...sub, filename: "sub" }] }))
  const sent = (await data(client.session.messages({ sessionID }))).flatMap(({ parts }) =>
    parts.filter((one) => one.type === "file"),
  )
  expect(sent).toMatchObject([
    { mime: "text/plain", filename: "sub/" },
    { mime: "text/plain", filename: "sub" },
  ])
  const lists = sent.map(({ url }) => Buffer.from(url.split(",")[1]!, "base64").toString())
  expect(new Set(lists)).toEqual(
    new Set(["sub/\n  more/\n    y.txt\n  x.txt\n(1 file is left out: reading is not allowed.)"]),
  )

  for (const path of [join(directory, "private"), join(directory, ".."), "/etc"]) {
    const refused = await client.session.prompt({ sessionID, parts: [...text("Look"), part(path)] })
    expect(refused.response.status, path).toBe(403)
  }
  const off = { list: false }
  const refused = await client.session.prompt({ sessionID, tools: off, parts: [...text("Look"), sub] })
  expect(refused.response.status).toBe(403)
})

test("a file that is too large for a data URL gets its own URL", async () => {
  await using scene = await opencodeScene()
  const sessionID = await session(scene)
  const bytes = Buffer.alloc(1024 * 1024 + 1, "a")
  const url = `data:text/plain;base64,${bytes.toString("base64")}`
  const parts = [{ type: "file" as const, mime: "text/plain", url }]
  const added = await data(scene.client.session.prompt({ sessionID, noReply: true, parts }))
  const [part] = added.parts
  const address = part?.type === "file" ? part.url : ""
  expect(address).toMatch(new RegExp(`^${scene.url}/blobs/[0-9a-f]{64}$`))
  const given = await fetch(address, { headers: bearer })
  expect(Buffer.from(await given.arrayBuffer()).equals(bytes)).toBe(true)
})

test("commands, shell commands, todos, diffs and a summary have the shapes that the OpenCode client expects", async () => {
  const todos = [{ content: "Look", status: "pending", priority: "high", id: "1" }]
  await using scene = await opencodeScene({
    git: true,
    config: {
      permission: { edit: "allow", bash: "allow" },
      command: { greet: { template: "Greet $ARGUMENTS" } },
      compaction: { keepTurns: 1 },
    },
    script: [
      { calls: [{ tool: "todowrite", input: { todos } }] },
      { calls: [{ tool: "write", input: { filePath: "new.txt", content: "one\n" } }] },
      { text: "Greetings." },
      { text: "A long answer. ".repeat(400) },
      { text: "And another." },
      { for: "compaction", text: "They greeted each other." },
    ],
  })
  const { client } = scene
  const sessionID = await session(scene)
  const greeted = await data(client.session.command({ sessionID, command: "greet", arguments: "Ada" }))
  expect(greeted.parts).toContainEqual(expect.objectContaining({ type: "text", text: "Greetings." }))
  const messageID = (greeted.info as { parentID: string }).parentID
  expect((await data(client.session.message({ sessionID, messageID }))).parts[0]).toMatchObject({
    text: "Greet Ada",
  })
  expect(await data(client.session.todo({ sessionID }))).toEqual([
    { content: "Look", status: "pending", priority: "high" },
  ])
  const diff = { file: "new.txt", additions: 1, deletions: 0, status: "added", patch: expect.any(String) }
  await until("the diff is there", async () => (await data(client.session.diff({ sessionID }))).length > 0)
  const [whole] = await data(client.session.diff({ sessionID }))
  expect(whole).toEqual(diff)
  expect(whole!.patch).toContain("+one")
  await until("the turn has its own", async () => {
    return (await data(client.session.diff({ sessionID, messageID }))).length > 0
  })
  expect(await data(client.session.diff({ sessionID, messageID }))).toEqual([diff])
  const asked = await data(client.session.message({ sessionID, messageID }))
  expect((asked.info as { summary?: unknown }).summary).toMatchObject({ diffs: [diff] })

  const shell = await data(client.session.shell({ sessionID, agent: "build", command: "echo by hand" }))
  expect(shell.parts).toContainEqual(
    expect.objectContaining({
      type: "tool",
      tool: "bash",
      state: expect.objectContaining({ output: expect.stringContaining("by hand") }),
    }),
  )
  for (const words of ["Talk", "And more"])
    await data(client.session.prompt({ sessionID, parts: text(words) }))
  const model = { providerID: "scripted", modelID: "m" }
  expect(await data(client.session.summarize({ sessionID, ...model }))).toBe(true)
  const history = await data(client.session.messages({ sessionID }))
  const summary = history.find(({ info }) => info.role === "assistant" && info.summary)
  expect(summary?.parts).toContainEqual(
    expect.objectContaining({ type: "text", text: expect.stringContaining("They greeted each other.") }),
  )
})

test("an abort ends a run, and a busy session is reported as busy", async () => {
  await using scene = await opencodeScene({
    script: [{ text: "Hi." }, { text: "Never.", delayMs: Number.POSITIVE_INFINITY }],
  })
  const { client } = scene
  const sessionID = await session(scene)
  const { info } = await data(client.session.prompt({ sessionID, parts: text("Hello") }))
  using watched = await watch(client, { directory: scene.directory })
  const waiting = client.session.prompt({ sessionID, parts: text("Wait") })
  await watched.next("session.status", ({ properties }) => properties.status.type === "busy")
  await until("it is asked", () => scene.model.requests.length === 2)

  const messageID = (info as { parentID: string }).parentID
  const busy = await client.session.revert({ sessionID, messageID })
  expect(busy.response.status).toBe(409)
  expect(busy.error).toMatchObject({ name: "SessionBusyError", _tag: "SessionBusyError", sessionID })
  const shell = await client.session.shell({ sessionID, agent: "build", command: "true" })
  expect(shell.response.status).toBe(409)

  expect(await data(client.session.abort({ sessionID }))).toBe(true)
  expect((await data(waiting)).info).toMatchObject({ error: { name: "MessageAbortedError" } })
  await until("it is idle", async () => Object.keys(await data(client.session.status())).length === 0)
})

test("a shell command that the rules deny is refused before anything is written", async () => {
  await using scene = await opencodeScene({
    config: { permission: { bash: { "*": "allow", "rm *": "deny" } } },
  })
  const { client } = scene
  const sessionID = await session(scene)
  const refused = await client.session.shell({ sessionID, agent: "build", command: "rm -rf ." })
  expect(refused.response.status).toBe(403)
  expect(refused.error).toMatchObject({ name: "ForbiddenError", code: "denied" })
  const unknown = await client.session.shell({ sessionID, agent: "nobody", command: "true" })
  expect(unknown.response.status).toBe(400)
  expect(await data(client.session.messages({ sessionID }))).toEqual([])
})

test("a prompt that takes longer than the heartbeat interval returns its answer", async () => {
  await using scene = await opencodeScene({
    script: [{ text: "At last.", delayMs: 300 }],
    server: { heartbeatMs: 20 },
  })
  const sessionID = await session(scene)
  const { data: reply, response } = await scene.client.session.prompt({ sessionID, parts: text("Slowly") })
  expect(reply!.parts).toContainEqual(expect.objectContaining({ type: "text", text: "At last." }))
  expect(response.headers.get("content-type")).toMatch(/^application\/json/)
  const raw = await fetch(`${scene.url}/session/${sessionID}/message`, {
    method: "POST",
    headers: { ...bearer, "content-type": "application/json" },
    body: JSON.stringify({ parts: text("Again") }),
  })
  expect(await raw.text()).toMatch(/^\s*\{/)
})

test("unsupported features are refused with an explanation, never ignored", async () => {
  await using scene = await opencodeScene()
  const { client, directory } = scene
  const sessionID = await session(scene)
  const refused = async (call: Promise<{ error?: unknown; response?: Response }>) => {
    const { error, response } = await call
    expect(response?.status).toBe(400)
    expect(error).toMatchObject({ name: "BadRequest", code: "invalid" })
    return (error as { data: { message: string } }).data.message
  }
  const parts = text("Hello")
  const format = { type: "json_schema" as const, schema: {} }
  expect(await refused(client.session.prompt({ sessionID, parts, format }))).toContain("schema")
  expect(await refused(client.session.prompt({ sessionID, parts, agent: "nobody" }))).toContain("nobody")
  expect(await refused(client.session.prompt({ sessionID, parts: [] }))).toContain("part")
  expect(await refused(client.session.create({ directory, workspaceID: "wrk_1" }))).toContain("workspace")
  expect(await refused(client.session.create({ directory, metadata: { a: 1 } }))).toContain("metadata")
  const model = { providerID: "scripted", id: "m", variant: "high" }
  expect(await refused(client.session.create({ directory, model }))).toContain("variant")
  expect(await refused(client.session.create({ directory, agent: "nobody" }))).toContain("nobody")
  const files = [{ type: "file" as const, mime: "text/plain", url: "data:,x" }]
  const command = { sessionID, command: "x", arguments: "", parts: files }
  expect(await refused(client.session.command(command))).toContain("@path")
  expect(await refused(client.session.get({ sessionID: "../x" }))).toContain("session id")
  expect(scene.model.requests).toEqual([])
  expect(await data(client.session.messages({ sessionID }))).toEqual([])
})

test("errors have a useful message, also as thrown errors", async () => {
  await using scene = await opencodeScene()
  const { client } = scene
  await expect(client.session.get({ sessionID: "ses_none" }, { throwOnError: true })).rejects.toThrow(
    /no session ses_none/,
  )
  const unknown = await client.permission.reply({ requestID: "per_none", reply: "once" })
  expect(unknown.response.status).toBe(404)
  expect(unknown.error).toMatchObject({ _tag: "PermissionNotFoundError", requestID: "per_none" })
  const stranger = scene.connect({ headers: {} })
  await expect(stranger.session.list({}, { throwOnError: true })).rejects.toThrow(/token/)
  expect((await stranger.session.list()).response.status).toBe(401)
})

test("a directory that is relative or does not exist gets status 400", async () => {
  await using scene = await opencodeScene({ files: { "a.txt": "a\n" } })
  const { client, directory } = scene
  const wrong = ["relative", join(directory, "nowhere"), join(directory, "a.txt"), "/nul\0"]
  for (const one of wrong) {
    expect((await client.session.list({ directory: one })).response.status).toBe(400)
    expect((await client.session.create({ directory: one })).response.status).toBe(400)
  }
  const made = await data(client.session.create({}))
  expect(made.directory).toBe(directory)
  await mkdir(join(directory, "über uns"))
  await writeFile(join(directory, "über uns", "b.txt"), "b\n")
  const odd = join(directory, "über uns")
  const there = scene.connect({ directory: odd })
  expect((await data(there.session.create({}))).directory).toBe(odd)
  expect((await data(there.path.get())).directory).toBe(odd)
  const byHand = scene.connect({ headers: { ...bearer, "x-opencode-directory": encodeURIComponent(odd) } })
  expect((await data(byHand.path.get())).directory).toBe(odd)
})

test("pruned tool output is marked as compacted", async () => {
  await using scene = await opencodeScene()
  const sessionID = await session(scene)
  const handle = await scene.stemma.sessions.get(sessionID)
  await handle.append({ role: "user", text: "Look" })
  const done = await handle.append({ role: "tool", tool: "read", output: "Much.", id: "msg_call" })
  const partID = done.parts[0]!.id
  const prune = { time: 1234, parts: [partID] }
  await handle.append({
    role: "assistant",
    parts: [
      { type: "step-start", prune },
      { type: "text", text: "." },
    ],
  })
  const state = async () => {
    const { parts } = await data(scene.client.session.message({ sessionID, messageID: "msg_call" }))
    return parts[0]!.type === "tool" ? parts[0]!.state : undefined
  }
  expect(await state()).toMatchObject({ status: "completed", output: "Much.", time: { compacted: 1234 } })
})

async function callLocations({ v2 }: OpencodeScene["client"]): Promise<void> {
  await data(v2.location.get())
  await data(v2.agent.list())
  await data(v2.command.list())
  await data(v2.model.list())
  await data(v2.provider.list())
  await data(v2.skill.list())
  await data(v2.integration.list())
  await data(v2.reference.list())
  await data(v2.fs.find({ query: "a" }))
}

test("the client calls every route by the route's own name", async () => {
  await using scene = await opencodeScene({
    git: true,
    files: { "a.txt": "a\n" },
    config: { permission: { edit: "ask" }, command: { say: { template: "Say $1" } } },
  })
  const { client, called, directory } = scene
  using watched = await watch(client, { directory })
  const sessionID = await session(scene)
  const prompt = { sessionID, parts: text("Hello") }
  const write = { calls: [{ tool: "write", input: { filePath: "b.txt", content: "b\n" } }] }
  scene.model.add(write, { text: "One." }, write, { text: "Two." }, { text: "Three." })
  for (const how of ["reply", "respond"] as const) {
    const seen = watched.events.length
    const running = client.session.prompt(prompt)
    await until("it asks", () => watched.events.slice(seen).some(({ type }) => type === "permission.asked"))
    const { id } = (await data(client.permission.list({ directory })))[0]!
    if (how === "reply") await data(client.permission.reply({ requestID: id, reply: "once" }))
    else await data(client.permission.respond({ sessionID, permissionID: id, response: "once" }))
    await data(running)
  }
  await data(client.session.command({ sessionID, command: "say", arguments: "this" }))
  await data(client.session.shell({ sessionID, agent: "build", command: "true" }))
  const history = await data(client.session.messages({ sessionID }))
  const messageID = history[0]!.info.id
  await data(client.session.message({ sessionID, messageID }))
  await client.session.summarize({ sessionID, providerID: "scripted", modelID: "m" })
  await data(client.session.promptAsync({ sessionID, noReply: true, parts: text("Know") }))
  await data(client.session.fork({ sessionID }))
  scene.model.add({ text: "Four." })
  await data(client.session.init({ sessionID }))
  await data(client.session.abort({ sessionID }))
  await data(client.session.revert({ sessionID, messageID }))
  await data(client.session.unrevert({ sessionID }))
  await data(client.session.update({ sessionID, title: "Title" }))
  await data(client.session.share({ sessionID }))
  await data(client.session.unshare({ sessionID }))
  await data(client.session.get({ sessionID }))
  await data(client.session.children({ sessionID }))
  await data(client.session.todo({ sessionID }))
  await data(client.session.diff({ sessionID }))
  await data(client.session.list())
  await data(client.session.status())
  await data(client.app.agents())
  await data(client.config.get())
  await data(client.config.providers())
  await data(client.path.get())
  const { id: projectID } = await data(client.project.current())
  await data(client.project.list())
  await data(client.project.directories({ projectID }))
  await data(client.provider.list())
  await data(client.provider.auth())
  await data(client.command.list())
  await data(client.app.skills())
  await data(client.vcs.get())
  await data(client.vcs.diff({ mode: "git" }))
  await data(client.question.list())
  await data(client.lsp.status())
  await data(client.mcp.status())
  await data(client.formatter.status())
  await data(client.experimental.capabilities.get())
  await data(client.experimental.console.get())
  await data(client.experimental.workspace.list())
  await data(client.experimental.workspace.status())
  await data(client.experimental.resource.list())
  await data(client.global.health())
  await callLocations(client)
  const over = new AbortController()
  const { stream } = await client.global.event({ signal: over.signal })
  for await (const event of stream) if (event.payload.type === "server.connected") break
  over.abort()
  const { info, parts } = history.at(-1)!
  const part = { sessionID, messageID: info.id, partID: parts.find(({ type }) => type === "tool")!.id }
  await data(client.part.update({ ...part, part: { ...parts[0]! } }))
  await data(client.part.delete(part))
  await data(client.session.deleteMessage({ sessionID, messageID }))
  await data(client.find.text({ pattern: "a" }))
  await data(client.find.files({ query: "a" }))
  await data(client.file.list({ path: "." }))
  await data(client.file.read({ path: "a.txt" }))
  await data(client.session.delete({ sessionID }))
  expect([...called].sort()).toEqual([...routeNames].sort())
})
