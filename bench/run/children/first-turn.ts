/** The first turn of a process, with what comes before it. */
const start = performance.now()
await import("../../../src/index.ts")
const imported = performance.now()
const { openBenchStemma, placeFromArgs } = await import("../place.ts")
const { turn } = await import("../turns.ts")
const { answerParent } = await import("../child.ts")

export interface FirstAnswer {
  importMs: number
  openMs: number
  turnMs: number
  secondMs: number
  /** Since the process was started. What only the benchmark loads is not in it. */
  totalMs: number
}

const opening = performance.now()
const ownMs = opening - imported
const stemma = await openBenchStemma(placeFromArgs())
const opened = performance.now()
const session = await stemma.sessions.create()
await turn(session)
const answered = performance.now()
await turn(session)
const second = performance.now()
await stemma.close()
const answer: FirstAnswer = {
  importMs: imported - start,
  openMs: opened - opening,
  turnMs: answered - opened,
  secondMs: second - answered,
  totalMs: answered - ownMs,
}
await answerParent(answer)
