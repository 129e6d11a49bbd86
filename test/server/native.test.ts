import { afterAll, describe, expect, test } from "vitest"
import type { HistoryItem, PermissionRequest, Session } from "../../src/protocol/index.ts"
import { type Route, routes } from "../../src/protocol/routes/index.ts"
import { until } from "../support/run-scene.ts"
import { type HttpScene, httpScene, messagesOf } from "../support/server/http-scene.ts"

const called = new Set<string>()

/** Calls a route of the table and checks the answer against its schema. */
async function ask<T>(scene: HttpScene, name: string, options: AskOptions = {}): Promise<T> {
  const [group, key] = name.split(".") as [keyof typeof routes, string]
  const route = (routes[group] as Record<string, Route>)[key]!
  const { params = {}, query = {}, json } = options
  const path = route.path.replace(/:(\w+)/g, (_, param: string) => params[param]!)
  const search = new URLSearchParams(query).toString()
  const response = await scene.call(search === "" ? path : `${path}?${search}`, {
    method: route.method,
    ...(json !== undefined && { json }),
  })
  const text = await response.text()
  called.add(name)
  expect([name, response.status, text.slice(0, 300)]).toEqual([
    name,
    options.status ?? route.status ?? (route.kind === "none" ? 204 : 200),
    expect.anything(),
  ])
  if (route.kind === "text") return text as T
  if (route.kind === "none" || route.kind === "bytes") return text as T
  const value = JSON.parse(text) as T
  if (response.ok && route.answer) {
    const parsed = route.answer.safeParse(value)
    expect(parsed.success ? [] : parsed.error.issues).toEqual([])
  }
  return value
}

interface AskOptions {
  params?: Record<string, string>
  query?: Record<string, string>
  json?: unknown
  status?: number
}

describe("every native route gives answers that match its schema", () => {
  test("create, find, change and remove a session", async () => {
    await using scene = await httpScene({ script: () => ({ text: "the answer is tea" }) })
    const made = await ask<Session>(scene, "sessions.create", { json: { title: "Tea", agent: "build" } })
    const params = { id: made.id }
    expect(made.title).toBe("Tea")
    await ask(scene, "session.ask", { params, json: { text: "what is it?" } })
    const list = await ask<{ items: Session[] }>(scene, "sessions.list", {
      query: { title: "tea", parentID: "none" },
    })
    expect(list.items.map(({ id }) => id)).toEqual([made.id])
    const { hits } = await ask<{ hits: unknown[] }>(scene, "sessions.search", {
      query: { text: "tea", kinds: "text,title" },
    })
    expect(hits.length).toBeGreaterThan(0)
    expect(await ask(scene, "sessions.statuses")).toEqual({})
    await ask(scene, "sessions.current", { json: { scope: "mine" } })
    const updated = await ask<Session>(scene, "session.update", {
      params,
      json: { title: "Green tea", budget: 2 },
    })
    expect(updated).toMatchObject({ title: "Green tea", budget: 2 })
    await ask(scene, "session.info", { params })
    await ask(scene, "session.status", { params })
    await ask(scene, "session.usage", { params })
    expect(await ask(scene, "session.budget", { params })).toMatchObject({ budget: 2, spent: 0, left: 2 })
    expect(await ask(scene, "session.setBudget", { params, json: { budget: null } })).toMatchObject({
      budget: null,
    })
    await ask(scene, "session.statistics", { params })
    await ask(scene, "session.context", { params })
    await ask(scene, "session.todos", { params })
    expect(await ask<string>(scene, "session.transcript", { params })).toContain("tea")
    const archived = await ask<Session>(scene, "session.archive", { params })
    expect(archived.time.archived).toBeGreaterThan(0)
    await ask(scene, "session.archive", { params, json: { archived: false } })
    const removal = await ask<{ sessions: string[] }>(scene, "session.remove", { params })
    expect(removal.sessions).toEqual([made.id])
    await ask(scene, "session.info", { params, status: 404 })
  })

  test("read, fork, revert, compact and redact a history", async () => {
    await using scene = await httpScene({
      script: (_, n) => ({ text: `answer ${n} ${"word ".repeat(2000)}` }),
      limit: { context: 100_000, output: 1000 },
    })
    const { id } = await ask<Session>(scene, "sessions.create")
    const params = { id }
    for (const text of ["one", "two", "three"]) {
      await ask(scene, "session.ask", { params, json: { parts: [{ type: "text", text }] } })
    }
    const page = await ask<{ items: HistoryItem[]; more: boolean }>(scene, "session.history", {
      params,
      query: { limit: "4" },
    })
    expect([page.items.length, page.more]).toEqual([4, true])
    const messageID = page.items[0]!.message.id
    const fork = await ask<Session>(scene, "session.fork", { params, json: { messageID, title: "Branch" } })
    expect(fork.history.count).toBe(2)
    const reverted = await ask<{ session: Session }>(scene, "session.revert", { params, json: { messageID } })
    expect(reverted.session.revert?.messageID).toBe(messageID)
    await ask(scene, "session.unrevert", { params })
    const compaction = await ask<{ summary: string }>(scene, "session.compact", {
      params,
      json: { instructions: "be brief" },
    })
    expect(compaction.summary).not.toBe("")
    await ask(scene, "session.diff", { params })
    await ask(scene, "session.diff", { params, query: { messageID } })
    const changes = await ask<{ rows: unknown[]; cursor: string }>(scene, "session.changes", { params })
    expect(changes.rows.length).toBeGreaterThan(4)
    const later = await ask<{ rows: unknown[] }>(scene, "session.changes", {
      params,
      query: { since: changes.cursor, tree: "1" },
    })
    expect(later.rows).toEqual([])
    const snapshot = await ask<{ page: { items: unknown[] } }>(scene, "session.snapshot", {
      params,
      query: { last: "2" },
    })
    expect(snapshot.page.items).toHaveLength(2)
    await ask(scene, "session.redact", { params, json: {}, status: 400 })
    expect(await ask(scene, "session.redact", { params, json: { messageID } })).toMatchObject({ messages: 1 })
    const whole = await ask<{ sessions: string[] }>(scene, "session.redact", { params, json: { all: true } })
    expect(whole.sessions).toContain(fork.id)
  })

  test("prompts, commands, shell commands, appended messages and an abort", async () => {
    await using scene = await httpScene({
      script: () => ({ text: "slowly slowly", deltaDelayMs: 200 }),
      config: { command: { hello: { template: "Say hello to $1" } } },
    })
    const { id } = await ask<Session>(scene, "sessions.create")
    const params = { id }
    const messageID = "msg_01m7hs74rnamncch3p31hv67b7"
    const accepted = await ask(scene, "session.prompt", { params, json: { text: "hi", messageID } })
    expect(accepted).toEqual({ messageID })
    expect(await ask(scene, "session.prompt", { params, json: { text: "hi", messageID } })).toEqual({
      messageID,
    })
    await ask(scene, "session.prompt", { params, json: {}, status: 400 })
    await until("it is busy", () => scene.stemma.status(id).type === "busy")
    await ask(scene, "session.abort", { params, json: { reason: "enough" } })
    await until("it is idle", () => scene.stemma.status(id).type === "idle")
    await ask(scene, "session.command", { params, json: { name: "hello", args: "Ann" } })
    await until("it is answered", async () => {
      const { items } = await ask<{ items: HistoryItem[] }>(scene, "session.history", { params })
      const last = items.at(-1)!.message
      return last.role === "assistant" && last.finish === "stop" && scene.stemma.statuses().size === 0
    })
    const appended = await ask<HistoryItem>(scene, "session.append", {
      params,
      json: { role: "user", text: "by the way" },
    })
    expect(appended.sealed).toBe(true)
    const shell = await ask<HistoryItem>(scene, "session.shell", {
      params,
      json: { command: "echo from the shell" },
    })
    expect(JSON.stringify(shell.parts)).toContain("from the shell")
  })

  test("list and answer questions", async () => {
    await using scene = await httpScene({
      config: { permission: { bash: "ask" } },
      script: [
        { calls: [{ tool: "bash", input: { command: "echo hi", description: "say hi" } }] },
        { text: "done" },
      ],
    })
    const { id } = await ask<Session>(scene, "sessions.create")
    const params = { id }
    // A client that polls for questions counts as the presence of a person who can answer them.
    expect(await ask(scene, "sessions.questions")).toEqual([])
    await ask(scene, "session.prompt", { params, json: { text: "run it" } })
    let open: PermissionRequest[] = []
    await until("it asks", async () => {
      open = await ask(scene, "session.questions", { params })
      return open.length > 0
    })
    expect(
      await ask<unknown[]>(scene, "sessions.questions", { query: { directory: scene.directory } }),
    ).toHaveLength(1)
    expect(await ask<unknown[]>(scene, "sessions.questions", { query: { directory: "/" } })).toHaveLength(0)
    const permissionID = open[0]!.id
    await ask(scene, "session.reply", { params: { id, permissionID }, json: { reply: "once" } })
    await until("it is done", () => scene.stemma.statuses().size === 0)
    await ask(scene, "session.reply", { params: { id, permissionID }, json: { reply: "once" }, status: 409 })
  })

  test("the tree of a session, the calls about a directory, the server itself", async () => {
    await using scene = await httpScene({ script: [{ text: "ok" }] })
    const { id } = await ask<Session>(scene, "sessions.create")
    const child = await ask<Session>(scene, "sessions.create", { json: { parentID: id } })
    expect(await ask<Session[]>(scene, "session.tree", { params: { id } })).toHaveLength(2)
    expect(await ask<Session[]>(scene, "session.parents", { params: { id: child.id } })).toHaveLength(1)
    expect(
      (await ask<{ items: unknown[] }>(scene, "session.children", { params: { id } })).items,
    ).toHaveLength(1)
    await ask(scene, "place.project")
    expect(await ask(scene, "place.agents")).toContainEqual(expect.objectContaining({ name: "build" }))
    await ask(scene, "place.commands")
    await ask(scene, "place.providers")
    const hash = await scene.stemma.store.blobs.put(Buffer.from("bytes"))
    expect(await ask(scene, "place.blob", { params: { hash } })).toBe("bytes")
    expect(await ask(scene, "server.health")).toMatchObject({ status: "ok" })
    expect(await ask(scene, "server.ready")).toMatchObject({ status: "ok" })
    expect(await ask<string>(scene, "server.metrics")).toContain("stemma_")
  })

  test("share and unshare a session", async () => {
    await using scene = await httpScene()
    const { id } = await ask<Session>(scene, "sessions.create")
    const shared = await ask<Session>(scene, "session.share", { params: { id } })
    expect(shared.share?.url).toMatch(/\/share\//)
    expect(await ask(scene, "session.previewShare", { params: { id } })).toMatchObject({ messages: [] })
    expect((await ask<Session>(scene, "session.unshare", { params: { id } })).share).toBeUndefined()
  })

  test("a stream of a session", async () => {
    await using scene = await httpScene()
    const { id } = await ask<Session>(scene, "sessions.create")
    for await (const { data } of messagesOf(await scene.call(`/sessions/${id}/event`))) {
      expect(data.type).toBe("synced")
      called.add("session.event")
      break
    }
  })

  afterAll(() => {
    const all = Object.entries(routes).flatMap(([group, table]) =>
      Object.keys(table).map((name) => `${group}.${name}`),
    )
    expect(
      all.filter((name) => !called.has(name)),
      "routes that this file never calls",
    ).toEqual([])
  })
})

test("features without an OpenCode call are available beside the OpenCode routes", async () => {
  await using scene = await httpScene()
  const { id } = await scene.json<Session>("/sessions", { json: {} })
  expect(await scene.json<Session[]>(`/session/${id}/tree`)).toHaveLength(1)
  expect(await scene.json(`/session/${id}/context`)).toHaveProperty("tokens")
  expect(await scene.json(`/session/${id}/budget`)).toHaveProperty("spent")
})
