import { join } from "node:path"
import { createID, type HistoryItem, type Session } from "../../../src/index.ts"
import { type Child, startChild } from "../child-process.ts"
import type { PeerGo, PeerLine } from "../children/run-peer.ts"
import { type RequestBody, type ServedRequest, startModelServer } from "../model-server/server.ts"
import { randomFrom } from "../seed.ts"
import { pairProblems, promptTexts, runAnswer } from "./answers.ts"
import { historyProblems, ranCalls } from "./history-problems.ts"
import { makeShared, openShared, type SharedScene, sharedPaths } from "./scene.ts"

export interface PeersOptions {
  directory: string
  seed: number
  /** Prompts of each process, and prompts that both send. */
  own: number
  shared: number
}

export interface PeersReport {
  /** The output of each process. */
  outputs: { a: PeerLine[]; b: PeerLine[] }
  exits: { code: number | null; signal: string | null }[]
  promptIDs: string[]
  sharedIDs: string[]
  items: readonly HistoryItem[]
  session: Session
  transcript: string
  /** Problems in the history, in the model's contexts, or in the store. */
  problems: string[]
  /** How often the model was asked about each text of `say`. */
  asked: Map<string, number>
}

/** Lets two processes use one session at the same time, and collects the outcome. */
export async function runPeers(options: PeersOptions): Promise<PeersReport> {
  await using server = await startModelServer({ fallback: runAnswer })
  const scene: SharedScene = { root: options.directory, baseURL: server.baseURL, snapshots: false }
  await makeShared(scene)
  const sessionID = createID("session", Date.now())
  {
    await using stemma = await openShared(scene)
    await stemma.sessions.create({ id: sessionID, title: "at first" })
  }
  const gos = plan(scene, { ...options, sessionID })
  const children = gos.map((go) => start(options.directory, go))
  try {
    await Promise.all(children.map((child) => child.ready))
    const answered = children.map(whenAnswered)
    for (const [index, child] of children.entries()) child.process.send(gos[index]!)
    await Promise.all(answered)
    for (const child of children) if (child.process.connected) child.process.send("finish")
    const exits = await Promise.all(children.map((child) => child.ended))
    const [a, b] = children.map((child) => child.lines<PeerLine>()) as [PeerLine[], PeerLine[]]
    await using stemma = await openShared(scene)
    const session = await stemma.sessions.get(sessionID)
    const items = await session.messages()
    const info = await session.info()
    const ran = ranCalls(sharedPaths(scene).ran)
    return {
      outputs: { a, b },
      exits,
      promptIDs: [...new Set(gos.flatMap(({ prompts }) => prompts.map(({ messageID }) => messageID)))],
      sharedIDs: gos[0]!.prompts.map(({ messageID }) => messageID).filter((id) => promptIn(gos[1]!, id)),
      items,
      session: info,
      transcript: await session.transcript(),
      problems: [
        ...historyProblems(items, { session: info, ran }),
        ...server.requests.flatMap(({ body }) => pairProblems(body)),
        ...server.requests.flatMap(({ body }) => contextProblems(body, items)),
        ...(await stemma.store.inbox(sessionID)).map((item) => `${item.type} ${item.id} was left lying`),
        ...(await session.questions()).map(({ id }) => `question ${id} is open`),
        ...(await stemma.store.check()).problems,
      ],
      asked: countAsked(server.requests),
    }
  } finally {
    for (const child of children) await child[Symbol.asyncDispose]()
  }
}

function promptIn(go: PeerGo, id: string): boolean {
  return go.prompts.some(({ messageID }) => messageID === id)
}

function plan(
  scene: SharedScene,
  { sessionID, seed, own, shared }: PeersOptions & { sessionID: string },
): [PeerGo, PeerGo] {
  const random = randomFrom(seed)
  const texts = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      messageID: createID("message", Date.now()),
      text: [`say ${name}${index}`, `wish ${index}`, `slow ${index}`, `wish ${index}`][index % 4]!,
    }))
  const both = texts("both", shared)
  const go = (name: "a" | "b", field: PeerGo["field"]): PeerGo => ({
    scene,
    sessionID,
    name,
    seed: Math.floor(random() * 2 ** 31),
    prompts: [...texts(name, own), ...both].sort(() => random() - 0.5),
    field,
    changes: 12,
    aborts: 3,
  })
  return [go("a", "maxHistory"), go("b", "budget")]
}

function start(directory: string, go: PeerGo): Child {
  return startChild("run-peer.ts", { output: join(directory, `peer-${go.name}`), limitMs: 90_000 })
}

function whenAnswered(child: Child): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  child.ready.then(() => child.process.on("message", () => resolve()), resolve)
  child.ended.then(() => resolve(), resolve)
  return promise
}

/** Whichever process calls the model, the context contains all earlier prompts. */
function contextProblems(body: RequestBody, items: readonly HistoryItem[]): string[] {
  const said = items.flatMap(({ message, parts }) =>
    message.role === "user" ? parts.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
  )
  const shown = promptTexts(body)
  const isAll = shown.every((text, index) => text === said[index])
  return isAll ? [] : [`the model was shown ${shown.join(", ")} of ${said.join(", ")}`]
}

/** Each request answers the last prompt in it. */
function countAsked(requests: readonly ServedRequest[]): Map<string, number> {
  const asked = new Map<string, number>()
  for (const { body } of requests) {
    const text = promptTexts(body).at(-1)
    if (text?.startsWith("say")) asked.set(text, (asked.get(text) ?? 0) + 1)
  }
  return asked
}
