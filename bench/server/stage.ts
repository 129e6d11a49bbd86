import { scratchDirectory } from "../bench.ts"
import { makeGitProject } from "../run/git-project.ts"
import { stemmaOptions } from "../run/setup.ts"
import type { BuiltPackage } from "./built-package.ts"
import { Caller } from "./caller.ts"
import { type Child, startChild } from "./child.ts"
import type { ModelHandlers } from "./children/model.ts"
import type { ReaderHandlers, ReadResult } from "./children/readers.ts"
import type { RelayHandlers } from "./children/relay.ts"
import type { StemmaHandlers } from "./children/stemma.ts"
import type { StreamKind } from "./stream-text.ts"

export const token = "a-token-for-the-benchmark"

/** A model, a relay, a server and its readers, each in a separate process. */
export interface Stage extends AsyncDisposable {
  stemma: Child<StemmaHandlers>
  url: string
  relayUrl: string
  /** The processes of readers. */
  readers: Child<ReaderHandlers>[]
  /** Calls the server on one connection. */
  caller: Caller
}

export async function openStage(
  built: BuiltPackage,
  { readers = 1 }: { readers?: number } = {},
): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const scratch = stack.use(await scratchDirectory())
  const directory = scratch.path("project")
  await makeGitProject(directory)
  const model = stack.use(await startChild<ModelHandlers>("model.ts"))
  const baseURL = await model.ask("baseURL")
  const relay = stack.use(await startChild<RelayHandlers>("relay.ts", { args: [baseURL] }))
  const options = stemmaOptions({ baseURL, directory, data: scratch.path("data") })
  const args = [await built.path(""), token, JSON.stringify(options)]
  const stemma = stack.use(await startChild<StemmaHandlers>("stemma.ts", { args }))
  const readerChildren: Child<ReaderHandlers>[] = []
  for (let i = 0; i < readers; i++) {
    readerChildren.push(stack.use(await startChild<ReaderHandlers>("readers.ts")))
  }
  const url = await stemma.ask("url")
  const caller = new Caller(url, token)
  stack.defer(() => caller.close())
  const kept = stack.move()
  return {
    stemma,
    url,
    relayUrl: await relay.ask("url"),
    readers: readerChildren,
    caller,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** The address of each kind of stream of a session. */
export function streamPath(kind: Exclude<StreamKind, "relay">, sessionID: string): string {
  return kind === "opencode" ? "/event" : `/sessions/${sessionID}/event?format=${kind}`
}

/** The prompt to which the model answers with this many deltas. */
export function marksPrompt({ marks, perSecond }: { marks: number; perSecond?: number }): string {
  return perSecond === undefined ? `marks ${marks}` : `marks ${marks} at ${perSecond}`
}

/** One answer read from the relay. */
export async function readRelay(
  { readers: [reader], relayUrl }: Stage,
  answer: { marks: number; perSecond?: number },
): Promise<ReadResult> {
  const body = { text: marksPrompt(answer) }
  await reader!.ask("open", {
    url: `${relayUrl}/stream`,
    kind: "relay",
    readers: 1,
    marks: answer.marks,
    body,
  })
  return reader!.ask("finish")
}

export interface SessionRead {
  /** One result for each process of readers. */
  results: ReadResult[]
  /** From the prompt to its reply. */
  runMs: number
}

/** One answer in a new session, read by this many readers. */
export async function readSession(
  stage: Stage,
  answer: { marks: number; perSecond?: number },
  options: { kind: Exclude<StreamKind, "relay">; readers?: number; isStalledToo?: boolean },
): Promise<SessionRead> {
  const { stemma, url, caller } = stage
  const { kind, readers = 1 } = options
  const sessionID = await stemma.ask("createSession")
  const used = stage.readers.slice(0, Math.min(readers, stage.readers.length))
  const address = `${url}${streamPath(kind, sessionID)}`
  const each = Math.ceil(readers / used.length)
  for (const [index, child] of used.entries()) {
    const own = Math.min(each, readers - index * each)
    await child.ask("open", { url: address, token, kind, sessionID, readers: own, marks: answer.marks })
  }
  if (options.isStalledToo) await stage.readers[0]!.ask("stall", { url: address, token })
  const start = performance.now()
  const finished = Promise.all(used.map((child) => child.ask("finish")))
  finished.catch(() => {})
  const reply = (await caller.post(`/sessions/${sessionID}/ask`, { text: marksPrompt(answer) })) as {
    text?: string
    message?: { error?: unknown }
  }
  const runMs = performance.now() - start
  if (!reply.text) throw new Error(`A turn failed: ${JSON.stringify(reply.message?.error ?? reply)}`)
  const results = await finished
  if (options.isStalledToo) await stage.readers[0]!.ask("endStalled")
  await stemma.ask("settle", sessionID)
  return { results, runMs }
}
