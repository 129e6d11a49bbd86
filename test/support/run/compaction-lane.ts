import type { HistoryItem, SessionHandle, Stemma } from "../../../src/index.ts"
import type { Child } from "../child-process.ts"
import type { CompactionGo } from "../children/compaction-child.ts"
import { until } from "../run-scene.ts"
import { randomFrom } from "../seed.ts"
import { CompactionDeaths, expectNoFailure, type Prompted, prompted } from "./compaction-deaths.ts"
import { compactionPart, compactionsIn } from "./compactions.ts"

export interface CompactionLaneReport {
  kills: number
  /** In which phase of the compaction the processes died. */
  where: { before: number; within: number; after: number }
}

/** Kills processes at random moments of turns that are compacted, and checks how other processes continue. */
export async function runCompactionLane(options: {
  directory: string
  seed: number
  kills: number
}): Promise<CompactionLaneReport> {
  const { kills, seed } = options
  await using deaths = await CompactionDeaths.open(options)
  const random = randomFrom(seed)
  const report: CompactionLaneReport = { kills: 0, where: { before: 0, within: 0, after: 0 } }
  let next: Child | undefined = deaths.start()
  let victim = await newVictim(deaths, random)
  try {
    while (next) {
      const child: Child = next
      next = undefined
      await child.ready
      const killed = kill(deaths, child, { victim, random })
      if (++report.kills < kills) next = deaths.start()
      await killed
      report.where[await whereLeft(deaths, victim.id)]++
      victim.deaths++
      // Sometimes the process that takes over is killed too.
      if (next && victim.deaths < 3 && random() < 0.25) continue
      await takeOver(deaths, victim)
      if (next) victim = await newVictim(deaths, random)
    }
  } finally {
    await next?.[Symbol.asyncDispose]()
  }
  return report
}

interface Victim {
  id: string
  prompts: Prompted[]
  compacts: boolean
  deaths: number
}

async function newVictim(deaths: CompactionDeaths, random: () => number): Promise<Victim> {
  const { id } = await deaths.session(random() < 0.5 ? 40 : 25)
  const name = `n${Math.floor(random() * 1e6)}`
  const prompts = [prompted(`loop ${name}`), ...(random() < 0.3 ? [prompted(`say ${name}`)] : [])]
  return { id, prompts, compacts: random() < 0.3, deaths: 0 }
}

async function kill(
  deaths: CompactionDeaths,
  child: Child,
  { victim, random }: { victim: Victim; random: () => number },
): Promise<void> {
  const isByTime = random() < 0.5
  const when = random() < 0.5 ? ("before" as const) : ("after" as const)
  const commit = Math.floor(random() * 9)
  const delayMs = 100 + random() * 600
  const go: Omit<CompactionGo, "scene"> = {
    sessionID: victim.id,
    prompts: victim.prompts,
    compacts: victim.compacts && victim.deaths === 0,
    recover: victim.deaths > 0,
    ...(!isByTime && { dieAt: { commit, when } }),
  }
  await deaths.go(child, go)
  if (isByTime) {
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    child.process.kill("SIGKILL")
  }
  await child.ended
  expectNoFailure(child)
}

async function whereLeft(
  deaths: CompactionDeaths,
  sessionID: string,
): Promise<"before" | "within" | "after"> {
  const { items, session } = await deaths.left(sessionID)
  if (session.time.compacting !== undefined) return "within"
  return compactedIn(items).length > 0 ? "after" : "before"
}

async function takeOver(deaths: CompactionDeaths, { id, prompts, ...victim }: Victim): Promise<void> {
  await using stemma = await deaths.reopen({ recover: true })
  const session = await stemma.sessions.get(id)
  // The prompts are sent again, as by clients that do not know their state.
  for (const prompt of prompts) await send(session, prompt)
  await settle(stemma, id)
  const problems = await deaths.problems(stemma, id, prompts)
  const count = compactedIn(await session.messages()).length
  if (count < 1 || count > 2) problems.push(`there are ${count} compactions`)
  deaths.server.requests.splice(0)
  if (problems.length > 0) throw new Error(`${id}, ${victim.deaths} deaths: ${problems.join("; ")}`)
}

export function send(session: SessionHandle, { text, messageID }: Prompted) {
  return session.prompt(text, { messageID, delivery: "queue" })
}

/** Successful compactions only. */
export function compactedIn(items: readonly HistoryItem[]): HistoryItem[] {
  return compactionsIn(items).filter((item) => compactionPart(item).summary !== undefined)
}

/** Waits until a process that recovers has nothing left to do for the session. */
export async function settle(stemma: Stemma, sessionID: string): Promise<void> {
  await until("nothing is left to do", async () => {
    const isIdle = stemma.status(sessionID).type === "idle"
    if (!isIdle || (await stemma.store.inbox(sessionID)).length > 0) return false
    const last = (await stemma.store.history(sessionID, { limit: 1 })).items[0]
    return last?.sealed === true && last.message.role === "assistant" && last.message.finish === "stop"
  })
}
