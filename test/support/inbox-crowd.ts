import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import type { Store } from "../../src/stores/store.ts"
import { type Child, startChild } from "./child-process.ts"
import { type InboxGo, type InboxLine, takeAll } from "./children/inbox-child.ts"
import { drawFrom } from "./draw.ts"
import type { Driver } from "./drivers.ts"
import { plainId } from "./ids.ts"
import { until } from "./run-scene.ts"
import { sampleText } from "./samples.ts"
import { randomFrom } from "./seed.ts"

export interface CrowdOptions {
  directory: string
  seed: number
  workers: number
  kills: number
  durationMs: number
  /** The crowd works until more than this many items are admitted. */
  admittedMin: number
}

export interface CrowdReport {
  store: Store
  sessionIDs: string[]
  /** The output of all processes, each in its own order. */
  outputs: InboxLine[][]
}

/** Runs workers and a collector on one store and kills and replaces some of the workers; then the rest is taken. */
export async function runCrowd(driver: Driver, options: CrowdOptions): Promise<CrowdReport> {
  const { directory, seed, workers, kills, durationMs, admittedMin } = options
  const random = randomFrom(seed)
  const stored = join(directory, "store")
  await mkdir(stored)
  const store = await driver.open(stored)
  const sessionIDs = await makeSessions(store, 5)
  const children: Child[] = []
  const start = async (number: number, role: InboxGo["role"]): Promise<Child> => {
    const output = join(directory, `child-${number}`)
    const child = startChild("inbox-child.ts", { output, args: [driver.name] })
    children.push(child)
    await child.ready
    const go: InboxGo = {
      directory: stored,
      number,
      seed: seed + number,
      sessionIDs,
      shared: 20,
      admits: 120,
      role,
    }
    child.process.send(go)
    return child
  }
  try {
    const running = await Promise.all(Array.from({ length: workers }, (_, number) => start(number, "worker")))
    const collector = await start(workers, "collector")
    for (let kill = 0; kill < kills; kill++) {
      await delay((durationMs / (kills + 1)) * (0.5 + random()))
      const victim = Math.floor(random() * workers)
      running[victim]!.process.kill("SIGKILL")
      await running[victim]!.ended
      running[victim] = await start(workers + 1 + kill, "worker")
    }
    await delay(durationMs / (kills + 1))
    const admitted = () =>
      children.flatMap((child) => child.lines<InboxLine>()).filter((line) => "admitted" in line).length
    await until("enough is admitted", () => admitted() > admittedMin)
    for (const child of [...running, collector]) child.process.send("stop")
    for (const child of [...running, collector]) await child.ended
    const outputs = children.map((child) => child.lines<InboxLine>())
    const taken: InboxLine[] = []
    for (const id of sessionIDs) await takeAll(store, id, (line) => taken.push(line))
    return { store, sessionIDs, outputs: [...outputs, taken] }
  } catch (error) {
    await store.close()
    throw error
  } finally {
    for (const child of children) await child[Symbol.asyncDispose]()
  }
}

export async function makeSessions(store: Store, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const id = plainId("session", i)
    const session = {
      id,
      projectID: "one",
      directory: "/project",
      title: sampleText(drawFrom([i])),
      version: "0.1.0",
      time: { created: i, updated: i },
    }
    await store.commit({ ops: [{ op: "session.create", session, segment: plainId("segment", i) }] })
    ids.push(id)
  }
  return ids
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
