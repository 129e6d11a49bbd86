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

/** Sends a message, or joins. What comes is read at once. */
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

/** What a chat was told, once it is over: its text, and the types of everything else. */
async function told({ events, ended }: Chat): Promise<string> {
  expect([await ended, events.at(-1)?.type]).toEqual(["whole", "done"])
  return events.map((event) => (event.type === "text_delta" ? event.text : `<${event.type}>`)).join("")
}

function waiting({ stemma }: { stemma: Stemma }, sessionID: string, count: number): Promise<void> {
  return until(`${count} prompts wait`, async () => (await stemma.store.inbox(sessionID)).length === count)
}

/** A script whose steps wait until they are let go, one by one. */
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
  test("each is told its own answer alone, and is done when that is whole", async () => {
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
    expect(await told(first)).toBe("<start>one<done>")
    steps.letGo(1)
    expect(await told(second)).toBe("<start>two<done>")
    await steps.begun(2)
    const joined = await open(scene, { sessionId })
    steps.letGo(2)
    expect(await told(third)).toBe("<start>three<done>")
    expect(await told(joined)).toBe("<start>three<done>")
  })

  test("one that steers a turn is answered with it, from where it came in", async () => {
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
    expect(await told(first)).toBe("<start>Look: <tool_call><tool_result>Both.<done>")
    expect(await told(second)).toBe("<start>Both.<done>")
    expect(await told(third)).toBe("<start>Later.<done>")
  })

  test("an abort ends the one that is being answered, not the one behind it", async () => {
    const steps = gatedSteps([{ text: "never" }, { text: "two" }])
    await using scene = await httpScene({ script: steps.script })
    const first = await open(scene, { message: "first" })
    await steps.begun(0)
    const second = await open(scene, { message: "second", sessionId: first.sessionID })
    await waiting(scene, first.sessionID, 1)
    await (await scene.stemma.sessions.get(first.sessionID)).abort("Enough.")
    expect(await told(first)).toBe("<start><error><done>")
    expect(first.events[1]).toMatchObject({ name: "MessageAbortedError", message: "Enough." })
    steps.letGo(1)
    expect(await told(second)).toBe("<start>two<done>")
  })

  test("a turn that goes on after a compaction is joined from its prompt", async () => {
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
    for (const message of ["one", "two", "three"]) await told(await open(scene, { message, sessionId }))
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
    expect(await told(chat)).toBe(all)
    expect(await told(joined)).toBe(all)
  })
})

describe("a session that is deleted", () => {
  test("while a prompt waits: an error, and done, for whoever sent it and whoever joined", async () => {
    const steps = gatedSteps([{ text: "never" }])
    await using scene = await httpScene({ script: steps.script })
    await using other = await scene.again()
    const { id: sessionId } = await scene.stemma.sessions.create({ agent: "build" })
    // Somebody else is at work in it: the prompt is not taken.
    const lease = await other.store.claim(sessionId)
    const chat = await open(scene, { message: "first", sessionId })
    const joined = await open(scene, { sessionId })
    const gone = await scene.call(`/api/agents/build/sessions/${sessionId}`, { method: "DELETE" })
    expect(gone.status).toBe(204)
    await other.store.release(lease)
    for (const one of [chat, joined]) {
      expect(await told(one)).toBe("<start><error><done>")
      expect(one.events[1]).toMatchObject({ name: "not_found" })
      expect(one.events[2]).toEqual({ type: "done", sessionId, tokenEstimate: 0 })
    }
  })
})

describe("joining a session where nobody answers", () => {
  test("is done at once if its last message was only noted down", async () => {
    await using scene = await httpScene()
    const session = await scene.stemma.sessions.create({ agent: "build" })
    await session.append({ role: "user", text: "Mind this." })
    expect(await told(await open(scene, { sessionId: session.id }))).toBe("<start><done>")
  })

  test("is done at once if it was forked from before the answer", async () => {
    await using scene = await httpScene({ script: [{ text: "one" }] })
    const chat = await open(scene, { message: "first" })
    await told(chat)
    const [, reply] = await (await scene.stemma.sessions.get(chat.sessionID)).messages()
    const fork = await scene.stemma.sessions.fork(chat.sessionID, { messageID: reply!.message.id })
    expect(await told(await open(scene, { sessionId: fork.id }))).toBe("<start><done>")
  })

  test("waits as long as another process holds it, and no longer", async () => {
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
    expect(await told(chat)).toBe("<start><done>")
  })

  test("ends with the reason if the answer was cut off; if another process goes on, with the answer", async () => {
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
    expect(await told(early)).toBe(`${said}<error><done>`)
    expect(early.events.at(-2)).toMatchObject({ name: "InterruptedError" })
    await using _second = await scene.again({ recover: true })
    await steps.begun(2)
    const late = await open(scene, { sessionId })
    steps.letGo(2)
    expect(await told(late)).toBe(`${said}It says hello.<done>`)
  })
})

test("a turn of very many messages is joined from its last ones", async () => {
  await using scene = await httpScene()
  const session = await scene.stemma.sessions.create({ agent: "build" })
  await session.append({ role: "user", text: "Count." })
  for (let n = 0; n < 201; n++) await session.append({ role: "assistant", text: `${n} ` })
  expect(await told(await open(scene, { sessionId: session.id }))).toMatch(/^<start>1 .*<done>$/)
})

test("a prompt that nobody takes is not waited for without end", async () => {
  await using scene = await httpScene({ script: [{ text: "never" }] })
  const { stemma } = scene
  const { id: sessionID } = await stemma.sessions.create({ agent: "build" })
  const promptID = createID("message", Date.now())
  const model = { providerID: "scripted", modelID: "m" }
  const message = { id: promptID, role: "user", time: { created: 1 }, agent: "build", model } as const
  // As a process leaves it that died right after.
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

test("what a revert hides is neither listed nor told again", async () => {
  await using scene = await httpScene({ script: (_, at) => ({ text: `answer ${at + 1}` }) })
  const { sessionID, ended } = await open(scene, { message: "one" })
  await ended
  await told(await open(scene, { message: "two secret", sessionId: sessionID }))
  const items = await (await scene.stemma.sessions.get(sessionID)).messages()
  const shown = async () => {
    const path = `/api/agents/build/sessions/${sessionID}`
    return JSON.stringify((await scene.json<{ messages: unknown }>(path)).messages)
  }
  expect(await shown()).toContain("two secret")
  await scene.stemma.sessions.revert(sessionID, { messageID: items[2]!.message.id })
  expect(await shown()).not.toMatch(/secret|answer 2/)
  expect(await shown()).toContain("answer 1")
  expect(await told(await open(scene, { sessionId: sessionID }))).toBe("<start>answer 1<done>")
  await scene.stemma.sessions.revert(sessionID, { messageID: items[0]!.message.id })
  expect(await shown()).toBe("[]")
  expect((await scene.call(`/api/agents/build/chat?sessionId=${sessionID}`)).status).toBe(404)
})
