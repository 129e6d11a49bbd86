/** The first turn of a process, including everything before it. */
const start = performance.now()
await import("../../../src/index.ts")
const imported = performance.now()
const { openBenchStemma, setupFromArgs } = await import("../setup.ts")
const { turn } = await import("../turns.ts")
const { answerParent } = await import("../child.ts")

export interface FirstAnswer {
  importMs: number
  openMs: number
  turnMs: number
  secondMs: number
  /** Since the start of the process, without modules that only the benchmark loads. */
  totalMs: number
}

const opening = performance.now()
const ownMs = opening - imported
const stemma = await openBenchStemma(setupFromArgs())
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
