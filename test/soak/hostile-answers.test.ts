import { afterAll, expect, it } from "vitest"
import { measureAnswers } from "../support/hostile-model/measure.ts"
import { startHostileServer } from "../support/hostile-model/server.ts"

const server = await startHostileServer()
afterAll(() => server[Symbol.asyncDispose]())

const mega = 1024 * 1024
const giga = 1024 * mega

/** The standard bounds of the config: 64 MiB an answer, 16 MiB of arguments, 1,000 calls. */
it.each(["chat", "responses", "anthropic", "google"] as const)(
  "an answer takes at most four times its bound of memory, and gives it back within a minute: %s",
  async (api) => {
    const answers = [
      { api, kind: "error", size: giga },
      { api, kind: "html", size: giga },
      { api, kind: "json", size: giga },
      { api, kind: "line", size: giga },
      { api, kind: "text", size: giga },
      { api, kind: "event", size: 60 * mega },
      { api, kind: "argument-event", size: 10 * mega },
      { api, kind: "argument-event", size: 15 * mega },
      { api, kind: "arguments", size: 100 * mega },
      { api, kind: "calls", size: 10_000 },
    ] as const
    const reports = await measureAnswers(server, {
      answers: answers.filter(({ kind }) => api !== "google" || kind !== "arguments"),
      restMs: 60_000,
      restBytes: 64 * mega,
      limitMs: 900_000,
    })
    for (const { model, peak, before, after, restMs } of reports) {
      const figures = { peak: Math.round((peak - before) / mega), after: Math.round((after - before) / mega) }
      process.stdout.write(`${model}: ${JSON.stringify({ ...figures, restMs: Math.round(restMs) })}\n`)
    }
    for (const { model, peak, before, after } of reports) {
      expect({ model, isBounded: peak - before <= 256 * mega }).toEqual({ model, isBounded: true })
      expect({ model, isBack: after - before <= 64 * mega }).toEqual({ model, isBack: true })
    }
  },
  1_000_000,
)
