import { describe, expect, test, vi } from "vitest"
import { createID, type ScriptedAnswer, type Stemma } from "../../src/index.ts"
import { ChatEvent } from "../../src/server/panel/chat-event.ts"
import { ChatSource } from "../../src/server/panel/chat-source.ts"
import { until } from "../support/run-scene.ts"
import { expectShape } from "../support/server/expect-shape.ts"
import { type HttpScene, httpScene } from "../support/server/http-scene.ts"

interface Chat {
  sessionID: string
  events: ChatEvent[]
  /** How the connection ended. */
  ended: Promise<"whole" | "broken">
}

/** Sends a message, or joins the session. Events are read immediately. */
async function open(scene: HttpScene, body: { message?: string; sessionId?: string }): Promise<Chat> {
  const path = "/api/agents/build/chat"
  const response = await (body.message === undefined
    ? scene.call(`${path}?sessionId=${body.sessionId}`)
    : scene.call(path, { json: body }))
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  const events: ChatEvent[] = []
  const ended = readAll(response, events)
  return { sessionID: response.headers.get("x-session-id")!, events, ended }
}

async function readAll(response: Response, events: ChatEvent[]): Promise<"whole" | "broken"> {
  let text = ""
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const blocks = text.split("\n\n")
      text = blocks.pop()!
      for (const block of blocks) {
        if (!block.startsWith("data: ")) continue
        const data = JSON.parse(block.slice("data: ".length)) as ChatEvent
        expectShape(ChatEvent, data, "an event of a chat")
        events.push(data)
      }
    }
    return "whole"
  } catch {
    return "broken"
  }
}

/** The events of a chat that is over: its text, and the types of all other events. */
async function eventsOf({ events, ended }: Chat): Promise<string> {
  expect([await ended, events.at(-1)?.type]).toEqual(["whole", "done"])
  return events.map((event) => (event.type === "text_delta" ? event.text : `<${event.type}>`)).join("")
}

function waiting({ stemma }: { stemma: Stemma }, sessionID: string, count: number): Promise<void> {
  return until(`${count} prompts wait`, async () => (await stemma.store.inbox(sessionID)).length === count)
}

/** A script whose steps wait until the test releases each of them. */
function gatedSteps(answers: readonly ScriptedAnswer[]) {
  const gates = answers.map(() => Promise.withResolvers<void>())
  const begun = answers.map(() => Promise.withResolvers<void>())
  const script = async (_: unknown, n: number): Promise<ScriptedAnswer> => {
    begun[n]!.resolve()
    await gates[n]!.promise
    return answers[n]!
  }
  return { script, begun: (n: number) => begun[n]!.promise, letGo: (n: number) => gates[n]!.resolve() }
}

const readIt: ScriptedAnswer = { text: "Look: ", calls: [{ tool: "read", input: { filePath: "a.txt" } }] }

describe("chats on one session", () => {
  test("each receive only their own answer, and end when it is complete", async () => {
    const steps = gatedSteps([{ text: "one" }, { text: "two" }, { text: "three" }])
    await using scene = await httpScene({ script: steps.script })
    const first = await open(scene, { message: "first" })
    const { sessionID: sessionId } = first
    await steps.begun(0)
    const second = await open(scene, { message: "second", sessionId })
    await waiting(scene, sessionId, 1)
    const third = await open(scene, { message: "third", sessionId })
    await waiting(scene, sessionId, 2)
    steps.letGo(0)
    expect(await eventsOf(first)).toBe("<start>one<done>")
    steps.letGo(1)
    expect(await eventsOf(second)).toBe("<start>two<done>")
    await steps.begun(2)
    const joined = await open(scene, { sessionId })
    steps.letGo(2)
    expect(await eventsOf(third)).toBe("<start>three<done>")
    expect(await eventsOf(joined)).toBe("<start>three<done>")
  })

  test("a steering message is answered in the running turn, and its chat begins at its step", async () => {
    const steps = gatedSteps([readIt, { text: "Both." }, { text: "Later." }])
    await using scene = await httpScene({ script: steps.script, files: { "a.txt": "hello" } })
    const first = await open(scene, { message: "first" })
    await steps.begun(0)
    const second = await open(scene, { message: "second", sessionId: first.sessionID })
    steps.letGo(0)
    await steps.begun(1)
    const third = await open(scene, { message: "third", sessionId: first.sessionID })
    steps.letGo(1)
    steps.letGo(2)
    expect(await eventsOf(first)).toBe("<start>Look: <tool_call><tool_result>Both.<done>")
    expect(await eventsOf(second)).toBe("<start>Both.<done>")
    expect(await eventsOf(third)).toBe("<start>Later.<done>")
  })

  test("an abort ends the chat that is being answered, not the next one", async () => {
    const steps = gatedSteps([{ text: "never" }, { text: "two" }])
    await using scene = await httpScene({ script: steps.script })
    const first = await open(scene, { message: "first" })
    await steps.begun(0)
    const second = await open(scene, { message: "second", sessionId: first.sessionID })
    await waiting(scene, first.sessionID, 1)
    await (await scene.stemma.sessions.get(first.sessionID)).abort("Enough.")
    expect(await eventsOf(first)).toBe("<start><error><done>")
    expect(first.events[1]).toMatchObject({ name: "MessageAbortedError", message: "Enough." })
    steps.letGo(1)
    expect(await eventsOf(second)).toBe("<start>two<done>")
  })

  test("a turn that continues after a compaction is joined from its prompt", async () => {
    const long = "word ".repeat(3000)
    const steps = gatedSteps([{ text: long }, { text: long }, { text: long }, readIt, { text: "Read." }])
    for (const n of [0, 1, 2]) steps.letGo(n)
    await using scene = await httpScene({
      script: steps.script,
      files: { "a.txt": "hello" },
      config: { compaction: { keepTurns: 1 } },
      limit: { context: 200_000, output: 1000 },
    })
    const session = await scene.stemma.sessions.create({ agent: "build" })
    const sessionId = session.id
    for (const message of ["one", "two", "three"]) await eventsOf(await open(scene, { message, sessionId }))
    const chat = await open(scene, { message: "read it", sessionId })
    await steps.begun(3)
    const compacting = session.compact()
    await waiting(scene, sessionId, 1)
    steps.letGo(3)
    await compacting
    await steps.begun(4)
    const joined = await open(scene, { sessionId })
    steps.letGo(4)
    const all = "<start>Look: <tool_call><tool_result><compaction_start><compaction_end>Read.<done>"
    expect(await eventsOf(chat)).toBe(all)
    expect(await eventsOf(joined)).toBe(all)
  })
})

describe("a session that is deleted", () => {
  test("while a prompt waits: the sender and the joined chat get an error and `done`", async () => {
    const steps = gatedSteps([{ text: "never" }])
    await using scene = await httpScene({ script: steps.script })
    await using other = await scene.again()
    const { id: sessionId } = await scene.stemma.sessions.create({ agent: "build" })
    // Another process holds the lease, so the prompt is not taken.
    const lease = await other.store.claim(sessionId)
    const chat = await open(scene, { message: "first", sessionId })
    const joined = await open(scene, { sessionId })
    const gone = await scene.call(`/api/agents/build/sessions/${sessionId}`, { method: "DELETE" })
    expect(gone.status).toBe(204)
    await other.store.release(lease)
    for (const one of [chat, joined]) {
      expect(await eventsOf(one)).toBe("<start><error><done>")
      expect(one.events[1]).toMatchObject({ name: "not_found" })
      expect(one.events[2]).toEqual({ type: "done", sessionId, tokenEstimate: 0 })
    }
  })
})

describe("joining a session without a run", () => {
  test("ends immediately if its last message needs no reply", async () => {
    await using scene = await httpScene()
    const session = await scene.stemma.sessions.create({ agent: "build" })
    await session.append({ role: "user", text: "Mind this." })
    expect(await eventsOf(await open(scene, { sessionId: session.id }))).toBe("<start><done>")
  })

  test("ends immediately if the session is a fork from before the answer", async () => {
    await using scene = await httpScene({ script: [{ text: "one" }] })
    const chat = await open(scene, { message: "first" })
    await eventsOf(chat)
    const [, reply] = await (await scene.stemma.sessions.get(chat.sessionID)).messages()
    const fork = await scene.stemma.sessions.fork(chat.sessionID, { messageID: reply!.message.id })
    expect(await eventsOf(await open(scene, { sessionId: fork.id }))).toBe("<start><done>")
  })

  test("waits as long as another process holds the lease", async () => {
    await using scene = await httpScene()
    await using other = await scene.again()
    const session = await scene.stemma.sessions.create({ agent: "build" })
    await session.append({ role: "user", text: "Mind this." })
    const lease = await other.store.claim(session.id)
    const looks = vi.spyOn(scene.stemma.store, "claim")
    const chat = await open(scene, { sessionId: session.id })
    await until("it has looked twice", () => looks.mock.calls.length > 1)
    expect(chat.events.map(({ type }) => type)).toEqual(["start"])
    await other.store.release(lease)
    expect(await eventsOf(chat)).toBe("<start><done>")
  })

  test("ends with the error if the answer was interrupted, and with the answer if another process continues it", async () => {
    const steps = gatedSteps([readIt, { text: "never" }, { text: "It says hello." }])
    await using scene = await httpScene({ script: steps.script, files: { "a.txt": "hello" } })
    const first = await scene.again()
    const { id: sessionId } = await first.sessions.create({ agent: "build" })
    await (await first.sessions.get(sessionId)).prompt("Read it.").admitted
    steps.letGo(0)
    await steps.begun(1)
    const early = await open(scene, { sessionId })
    void first.close()
    await first.close()
    const said = "<start>Look: <tool_call><tool_result>"
    expect(await eventsOf(early)).toBe(`${said}<error><done>`)
    expect(early.events.at(-2)).toMatchObject({ name: "InterruptedError" })
    await using _second = await scene.again({ recover: true })
    await steps.begun(2)
    const late = await open(scene, { sessionId })
    steps.letGo(2)
    expect(await eventsOf(late)).toBe(`${said}It says hello.<done>`)
  })
})

test("joining a turn with very many messages begins at its last messages", async () => {
  await using scene = await httpScene()
  const session = await scene.stemma.sessions.create({ agent: "build" })
  await session.append({ role: "user", text: "Count." })
  for (let n = 0; n < 201; n++) await session.append({ role: "assistant", text: `${n} ` })
  expect(await eventsOf(await open(scene, { sessionId: session.id }))).toMatch(/^<start>1 .*<done>$/)
})

test("waiting for a prompt that no process takes ends with an error", async () => {
  await using scene = await httpScene({ script: [{ text: "never" }] })
  const { stemma } = scene
  const { id: sessionID } = await stemma.sessions.create({ agent: "build" })
  const promptID = createID("message", Date.now())
  const model = { providerID: "scripted", modelID: "m" }
  const message = { id: promptID, role: "user", time: { created: 1 }, agent: "build", model } as const
  // The state that a process leaves if it dies right after the admission.
  const item = {
    id: promptID,
    sessionID,
    time: 1,
    type: "prompt",
    delivery: "steer",
    message,
    parts: [],
  } as const
  await stemma.store.admit({ ...item, parts: [] })
  const subscription = stemma.subscribe({ scope: { sessionID } })
  const source = new ChatSource({ stemma, sessionID, promptID, subscription, takeMs: 1 })
  const chats: ChatEvent[] = []
  for await (const frames of source.batches()) chats.push(...frames.map(({ chat }) => chat))
  expect(chats.map(({ type }) => type)).toEqual(["start", "error", "done"])
  expect(chats[1]).toMatchObject({ name: "unavailable" })
})

test("messages hidden by a revert are neither listed nor sent again", async () => {
  await using scene = await httpScene({ script: (_, at) => ({ text: `answer ${at + 1}` }) })
  const { sessionID, ended } = await open(scene, { message: "one" })
  await ended
  await eventsOf(await open(scene, { message: "two secret", sessionId: sessionID }))
  const items = await (await scene.stemma.sessions.get(sessionID)).messages()
  const shown = async () => {
    const path = `/api/agents/build/sessions/${sessionID}`
    return JSON.stringify((await scene.json<{ messages: unknown }>(path)).messages)
  }
  expect(await shown()).toContain("two secret")
  await scene.stemma.sessions.revert(sessionID, { messageID: items[2]!.message.id })
  expect(await shown()).not.toMatch(/secret|answer 2/)
  expect(await shown()).toContain("answer 1")
  expect(await eventsOf(await open(scene, { sessionId: sessionID }))).toBe("<start>answer 1<done>")
  await scene.stemma.sessions.revert(sessionID, { messageID: items[0]!.message.id })
  expect(await shown()).toBe("[]")
  expect((await scene.call(`/api/agents/build/chat?sessionId=${sessionID}`)).status).toBe(404)
})
