/** The first turn of a process, in a session with a long history. */
import { openStemma } from "../../../src/index.ts"
import { answerParent } from "../child.ts"
import { setupFromArgs, stemmaOptions } from "../setup.ts"
import { turn } from "../turns.ts"

export interface LongFirstAnswer {
  firstMs: number
  secondMs: number
}

const [sessionID, contextLimit] = process.argv.slice(5) as [string, string]
const stemma = await openStemma(stemmaOptions(setupFromArgs(), { contextLimit: Number(contextLimit) }))
const session = await stemma.sessions.get(sessionID)
const start = performance.now()
await turn(session)
const first = performance.now()
await turn(session)
const second = performance.now()
await stemma.close()
await answerParent({ firstMs: first - start, secondMs: second - first } satisfies LongFirstAnswer)
