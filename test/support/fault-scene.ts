import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { inspect } from "node:util"
import { expect } from "vitest"
import type { Reply, SessionHandle, StemmaEvent } from "../../src/index.ts"
import { EventReplica } from "./fault-event-replica.ts"
import { assertPaired } from "./fault-request.ts"
import { type AnswerSource, type ModelServer, startModelServer } from "./model-server/server.ts"
import { emptyReplica, pullAll, type Replica, replicaDifference } from "./replica.ts"
import { assertValid, partsOf, type RunScene, type RunSceneOptions, runScene } from "./run-scene.ts"

/** The provider packages whose protocols the test server speaks. */
export const packages = ["@ai-sdk/openai-compatible", "@ai-sdk/openai", "@ai-sdk/anthropic"] as const
export type Package = (typeof packages)[number]

export const key = "sk-fault-0123456789abcdefghij"

/** Dollars per million tokens. */
export const cost = { input: 2, output: 10 }

export interface FaultSceneOptions extends Pick<RunSceneOptions, "config" | "timing" | "files" | "tools"> {
  /** The server's answers, request by request; after them it answers `This is a short answer of the test server.` */
  answers?: readonly AnswerSource[]
}

export interface FaultScene extends AsyncDisposable {
  run: RunScene
  server: ModelServer
  session: SessionHandle
  ask(text: string): Asked
  /** The milliseconds between the requests. */
  waits(): number[]
  retries(): Promise<ReturnType<typeof partsOf<"retry">>>
  /**
   * Fails unless the history is valid, clients that read only events or rows have the same history, and the next prompt
   * works.
   */
  settled(): Promise<void>
}

/** A running prompt, as a subscriber sees it. */
export interface Asked {
  reply: Promise<Reply>
  events: { event: StemmaEvent; at: number }[]
  replica: EventReplica
  /** Resolves with the first event that matches. */
  first(isIt: (event: StemmaEvent) => boolean): Promise<StemmaEvent>
}

/** A Stemma whose only model is the test server behind a real provider package. */
export async function faultScene(npm: Package, options: FaultSceneOptions = {}): Promise<FaultScene> {
  const { answers = [], config, ...rest } = options
  const server = await startModelServer()
  server.script(...answers)
  const provider = {
    npm,
    options: { baseURL: server.baseURL, apiKey: "{env:FAULT_TEST_KEY}" },
    models: { m1: { limit: { context: 128_000, output: 8_192 }, cost } },
  }
  const run = await runScene({
    ...rest,
    env: { PATH: process.env.PATH, HOME: "/nonexistent", FAULT_TEST_KEY: key },
    config: { model: "faulty/m1", provider: { faulty: provider }, ...config },
  })
  const session = await run.stemma.sessions.create()
  const rows = emptyReplica({ sessionID: session.id })
  const scene: FaultScene = {
    run,
    server,
    session,
    ask: (text) => ask(session, text, () => pullAll(rows, run.stemma.store)),
    waits: () => server.requests.slice(1).map(({ at }, index) => at - server.requests[index]!.at),
    retries: async () => partsOf(await session.messages(), "retry"),
    settled: () => settled(scene, rows),
    async [Symbol.asyncDispose]() {
      await run[Symbol.asyncDispose]()
      await server.close()
    },
  }
  return scene
}

function ask(session: SessionHandle, text: string, onRetry: () => Promise<void>): Asked {
  const events: Asked["events"] = []
  const replica = new EventReplica()
  const waiting: { isIt: (event: StemmaEvent) => boolean; resolve: (event: StemmaEvent) => void }[] = []
  const prompt = session.prompt(text)
  const listen = async () => {
    for await (const event of prompt) {
      events.push({ event, at: Date.now() })
      replica.apply(event)
      for (const { isIt, resolve } of waiting) if (isIt(event)) resolve(event)
      if (isRetryStatus(event)) await onRetry()
    }
    const reply = await prompt
    replica.compare(await session.messages())
    return reply
  }
  const reply = listen()
  reply.catch(() => {})
  return {
    reply,
    events,
    replica,
    first(isIt) {
      const known = events.find(({ event }) => isIt(event))
      if (known) return Promise.resolve(known.event)
      const { promise, resolve } = Promise.withResolvers<StemmaEvent>()
      waiting.push({ isIt, resolve })
      return Promise.race([
        promise,
        reply.then(() => Promise.reject(new Error("The prompt was answered without that event."))),
      ])
    },
  }
}

export function isRetryStatus(event: StemmaEvent): boolean {
  return event.type === "session.status" && event.properties.status.type === "retry"
}

export function isDelta(event: StemmaEvent): boolean {
  return event.type === "message.part.delta"
}

/** The statuses that the subscriber received, in order. */
export function statuses({ events }: Asked) {
  return events.flatMap(({ event, at }) =>
    event.type === "session.status" ? [{ ...event.properties.status, at }] : [],
  )
}

async function settled(scene: FaultScene, rows: Replica): Promise<void> {
  const { session, run, server } = scene
  await assertValid(session)
  const before = server.requests.length
  server.script({ text: "Here I am." })
  const next = await scene.ask("Are you there?").reply
  expect({ text: next.text, error: next.error }).toEqual({ text: "Here I am.", error: undefined })
  expect(server.requests).toHaveLength(before + 1)
  expect(server.scripted).toBe(0)
  for (const request of server.requests) assertPaired(request)
  await assertValid(session)
  await pullAll(rows, run.stemma.store)
  expect(await replicaDifference(rows, run.stemma.store, session.id)).toBeUndefined()
  expect(run.warnings).toEqual([])
}

/** Everything that a run has left, as text, to check that no key is in it. */
export async function traces({ run }: FaultScene, asked: readonly Asked[]): Promise<Map<string, string>> {
  const found = new Map<string, string>([
    ["events", inspectAll(asked.map(({ events }) => events))],
    ["replies", inspectAll(await Promise.all(asked.map(({ reply }) => reply)))],
    ["warnings", inspectAll(run.warnings)],
  ])
  for (const directory of [run.data, run.directory]) {
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      found.set(path, await readFile(path, "latin1"))
    }
  }
  return found
}

function inspectAll(value: unknown): string {
  return inspect(value, {
    depth: 20,
    showHidden: true,
    maxArrayLength: null,
    maxStringLength: null,
    breakLength: Number.POSITIVE_INFINITY,
  })
}
