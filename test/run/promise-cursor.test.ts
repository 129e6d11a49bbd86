import { expect, test } from "vitest"
import { z } from "zod"
import { openStore, type Stemma, type Tool } from "../../src/index.ts"
import { EventClient } from "../stream/event-client.ts"
import { storeWith } from "../support/run/store-with.ts"
import { partsOf, type RunScene, runScene, until } from "../support/run-scene.ts"

const chatty: Tool = {
  name: "chatty",
  description: "Prints.",
  input: z.object({}),
  replay: "never",
  writes: false,
  wants: async () => [],
  async execute(_, context) {
    for (let n = 0; n < 5; n++) {
      context.print(`line ${n}\n`)
      context.progress({ title: `line ${n}`, metadata: { n } })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return { title: "chatty", output: "five lines" }
  },
}

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index} `)

/** Every kind of event of a run: reasoning, text, tool calls, a failed attempt, an abort, an applied revert. */
async function eventful(scene: RunScene, sessionID: string): Promise<void> {
  const session = await scene.stemma.sessions.get(sessionID)
  await session.prompt("First")
  const aborted = session.prompt("To be aborted")
  await until("it speaks", async () => {
    const [last] = await session.messages({ last: 1 })
    return last?.sealed === false && partsOf([last], "text").some(({ text }) => text.includes("word3"))
  })
  await session.abort()
  const { message } = await aborted
  await session.prompt("Third")
  await scene.stemma.sessions.revert(sessionID, { messageID: message.id })
  await session.prompt("After the revert")
  await until("it is idle", () => scene.stemma.status(sessionID).type === "idle")
}

const script = [
  { reasoning: words(10), text: words(10), calls: [{ tool: "chatty", input: {} }], deltaDelayMs: 3 },
  { text: words(20), deltaDelayMs: 5, error: { kind: "network" as const, afterDeltas: 15 } },
  { text: words(20), deltaDelayMs: 5 },
  { text: words(2000), deltaDelayMs: 5 },
  { text: words(10) },
  { text: words(10), calls: [{ tool: "chatty", input: {} }] },
  { text: "The end." },
]

/** Subscribes, drops after some frames and returns with its last cursor, until the test stops it. */
async function listen(options: {
  stemma: () => Stemma
  sessionID: string
  listener: EventClient
  frames: () => number
  isOver: () => boolean
}): Promise<void> {
  const { sessionID, listener } = options
  let since: string | undefined
  while (!options.isOver()) {
    const stop = new AbortController()
    const timer = setInterval(() => options.isOver() && stop.abort(), 5)
    const subscription = options.stemma().subscribe({
      scope: { sessionID },
      signal: stop.signal,
      ...(since !== undefined && { since }),
    })
    let left = options.frames()
    try {
      for await (const frame of subscription) {
        if ("event" in frame) await listener.apply(frame.event, frame.cursor)
        since = frame.cursor ?? since
        if (--left <= 0 && since !== undefined) break
      }
    } finally {
      clearInterval(timer)
    }
    await new Promise((resolve) => setTimeout(resolve, 3))
  }
}

test("clients that drop at any frame of a run and return to its process or another one end in the store's state", async () => {
  await using scene = await runScene({ tools: [chatty], script })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  let isOver = false
  let isDone = false
  const clients = [1, 3, 8, 30, Number.POSITIVE_INFINITY].map((size, index) => {
    const listener = new EventClient(() => scene.stemma.store)
    let turn = 0
    const done = listen({
      // Every other subscription is to the other process.
      stemma: () => (index % 2 === 1 && turn++ % 2 === 1 ? other : scene.stemma),
      sessionID: session.id,
      listener,
      // At the end each subscriber stays: there is no cursor within a commit.
      frames: () => (isDone ? Number.POSITIVE_INFINITY : size),
      isOver: () => isOver,
    })
    return { size, listener, done }
  })
  await scene.stemma.sessions.touch(session.id)
  await until("all have heard of it", () => clients.every(({ listener }) => listener.sessions.size === 1))
  await eventful(scene, session.id)
  isDone = true
  for (const { listener, size } of clients) {
    let found: string | undefined
    await until(`the client of ${size} frames has everything`, async () => {
      found = await listener.difference(session.id)
      return found === undefined
    }).catch(() => {})
    expect(found, `${size} frames`).toBeUndefined()
  }
  isOver = true
  await Promise.all(clients.map(({ done }) => done))
})

test("a cursor of a dead process is valid in the next process", async () => {
  await using scene = await runScene({ tools: [chatty], script, recover: false })
  const session = await scene.stemma.sessions.create()
  const listener = new EventClient(() => scene.stemma.store)
  let since: string | undefined
  const run = session.prompt("First")
  const heard = scene.stemma.subscribe({ scope: { sessionID: session.id } })
  await heard.ready
  await scene.stemma.sessions.touch(session.id)
  for await (const frame of heard) {
    if ("event" in frame) await listener.apply(frame.event, frame.cursor)
    since = frame.cursor ?? since
    // In the middle of a tool's output.
    if (
      "event" in frame &&
      frame.event.type === "message.part.delta" &&
      frame.event.properties.field === "output"
    )
      break
  }
  const closing = scene.stemma.close()
  await scene.stemma.close()
  await closing
  await run
  const next = await scene.again()
  const later = new EventClient(() => next.store)
  for (const [id, known] of listener.sessions) later.sessions.set(id, known)
  let isOver = false
  const done = listenOn(next, { since: since!, sessionID: session.id, listener: later, isOver: () => isOver })
  let found: string | undefined
  await until("it has everything", async () => {
    found = await later.difference(session.id)
    return found === undefined
  }).catch(() => {})
  expect(found).toBeUndefined()
  isOver = true
  await done
})

async function listenOn(
  stemma: Stemma,
  options: { since: string; sessionID: string; listener: EventClient; isOver: () => boolean },
): Promise<void> {
  const stop = new AbortController()
  const timer = setInterval(() => options.isOver() && stop.abort(), 5)
  const { since, sessionID } = options
  for await (const frame of stemma.subscribe({ since, scope: { sessionID }, signal: stop.signal })) {
    if ("event" in frame) await options.listener.apply(frame.event, frame.cursor)
  }
  clearInterval(timer)
}

test("an iteration over a prompt gets all its events, even if it starts late", async () => {
  await using store = await openStore({ driver: "memory" })
  await using scene = await runScene({
    store: storeWith(store, {
      cursor: async () => {
        await new Promise((resolve) => setTimeout(resolve, 200))
        return store.cursor()
      },
    }),
    script: () => ({ text: "Done." }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const seen: string[] = []
  for await (const event of run) {
    if (event.type === "message.updated") seen.push(event.properties.info.role)
  }
  expect(seen[0]).toBe("user")
  expect((await run).text).toBe("Done.")
})

test("subscribers get streamed text at once, before it is stored", async () => {
  await using store = await openStore({ driver: "memory" })
  const said = ["First. ", "Second. ", "Third. "].map((text) => ({ text, ...Promise.withResolvers<void>() }))
  const stored = Promise.withResolvers<void>()
  let isSlow = false
  await using scene = await runScene({
    store: storeWith(store, {
      commit: async (commit) => {
        if (isSlow && commit.ops.some(({ op }) => op === "piece.add")) await stored.promise
        return store.commit(commit)
      },
    }),
    models: {
      slow: () => ({
        ref: { providerID: "slow", modelID: "m" },
        limit: { context: 0, output: 0 },
        async *stream() {
          yield { type: "text-start", id: "t" }
          for (const { text, promise } of said) {
            yield { type: "text-delta", id: "t", text }
            await promise
          }
          yield { type: "finish", reason: "stop" }
        },
      }),
    },
    config: { model: "slow/m" },
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  let heard = ""
  for await (const event of run) {
    if (event.type === "message.part.updated" && event.properties.part.type === "text") {
      heard = event.properties.part.text
    }
    if (event.type === "message.part.delta") heard += event.properties.delta
    if (heard === "First. ") {
      await until("it is stored", async () => (await session.text()).includes("First."))
      isSlow = true
      said[0]!.resolve()
    }
    if (heard === "First. Second. ") said[1]!.resolve()
    if (heard === "First. Second. Third. ") {
      stored.resolve()
      said[2]!.resolve()
    }
  }
  expect((await run).text).toBe("First. Second. Third. ")
})
