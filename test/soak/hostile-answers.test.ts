import { afterAll, expect, it } from "vitest"
import type { HostileAnswer } from "../support/hostile-model/answers.ts"
import { measureAnswers } from "../support/hostile-model/measure.ts"
import { hostileModel, startHostileServer } from "../support/hostile-model/server.ts"

const server = await startHostileServer()
afterAll(() => server[Symbol.asyncDispose]())

const mega = 1024 * 1024
const giga = 1024 * mega

/** Four times the standard bound of an answer. */
const stoppedMax = 256 * mega
/**
 * The longest answers that are taken whole, with a subscriber: their text is in the model's stream, in the message, in
 * the rows of the store and in events, and SQLite and the garbage collector have their share.
 */
const takenMax = 400 * mega
/** What stays for a while: the history of the session, and pages that the allocators have not given back. */
const keptMax = 128 * mega

type Row = Omit<HostileAnswer, "api"> & { most: number }

/** Answers at the standard bounds of the config: 64 MiB an answer, 16 MiB of arguments, 1,000 calls. */
const rows: Row[] = [
  { kind: "error", size: giga, most: stoppedMax },
  { kind: "html", size: giga, most: stoppedMax },
  { kind: "json", size: giga, most: stoppedMax },
  { kind: "line", size: giga, most: stoppedMax },
  { kind: "event", size: 100 * mega, most: stoppedMax },
  { kind: "arguments", size: 100 * mega, most: stoppedMax },
  { kind: "argument-event", size: 100 * mega, most: stoppedMax },
  { kind: "argument-event", size: 10 * mega, most: takenMax },
  { kind: "calls", size: 10_000, most: stoppedMax },
  { kind: "text", size: giga, most: takenMax },
  { kind: "event", size: 30 * mega, most: takenMax },
  { kind: "argument-event", size: 15 * mega, most: takenMax },
]

it.each(["chat", "responses", "anthropic", "google"] as const)(
  "an answer takes a bounded part of the memory, and gives it back within a minute: %s",
  async (api) => {
    // Google has no deltas of arguments.
    const chosen = rows.filter(({ kind }) => api !== "google" || kind !== "arguments")
    for (const { most, ...row } of chosen) {
      // Each in a process of its own: memory that one answer leaves behind would hide that of the next.
      const answer = { api, ...row }
      const [report] = await measureAnswers(server, {
        answers: [answer],
        restMs: 60_000,
        restBytes: keptMax,
        limitMs: 300_000,
        keepsHeapSmall: true,
      })
      const { before, peak, after, restMs, stallMs } = report!
      const figures = { peak: (peak - before) / mega, after: (after - before) / mega, restMs, stallMs }
      const rounded = Object.entries(figures).map(([name, value]) => [name, Math.round(value)])
      process.stdout.write(`${hostileModel(answer)}: ${JSON.stringify(Object.fromEntries(rounded))}\n`)
      expect.soft({ answer, isBounded: peak - before <= most }).toEqual({ answer, isBounded: true })
      expect.soft({ answer, isBack: after - before <= keptMax }).toEqual({ answer, isBack: true })
    }
  },
)
