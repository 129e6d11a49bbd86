/**
 * Twenty sessions with five turns each at the same time, in rounds, each round beside the same number of calls of
 * doStream.
 */
import { answerParent } from "../child.ts"
import { openBenchStemma, setupFromArgs } from "../setup.ts"
import { calm, turns } from "../turns.ts"
import { doStreamAlone, recordRequests } from "../ways.ts"

/** CPU milliseconds for a turn, round by round, of all threads of this process. */
export interface BesideAnswer {
  stemma: number[]
  doStream: number[]
}

const sessionsCount = 20
const turnsCount = 5

const rounds = Number(process.argv[5])
const recorder = recordRequests()
const stemma = await openBenchStemma(setupFromArgs(), recorder.fetch)
const answer: BesideAnswer = { stemma: [], doStream: [] }
for (let round = 0; round < rounds; round++) {
  const sessions = await Promise.all(Array.from({ length: sessionsCount }, () => stemma.sessions.create()))
  const used = await cpuOf(async () => {
    await Promise.all(sessions.map((session) => turns(session, turnsCount)))
    await calm(stemma, ...sessions)
  })
  answer.stemma.push(used)
  const doStream = doStreamAlone(recorder.last())
  answer.doStream.push(
    await cpuOf(() => Promise.all(Array.from({ length: sessionsCount }, () => often(doStream)))),
  )
}
await stemma.close()
await answerParent(answer)

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / (sessionsCount * turnsCount)
}

async function often(work: () => Promise<void>): Promise<void> {
  for (let i = 0; i < turnsCount; i++) await work()
}
