import { afterAll, expect, test } from "vitest"
import type { HostileReport } from "../support/children/hostile-answer-child.ts"
import type { HostileAnswer } from "../support/hostile-model/answers.ts"
import type { HostileApi } from "../support/hostile-model/events.ts"
import { measureAnswers } from "../support/hostile-model/measure.ts"
import { startHostileServer } from "../support/hostile-model/server.ts"

const server = await startHostileServer()
afterAll(() => server[Symbol.asyncDispose]())

const mega = 1024 * 1024
const bounds = { bytesMax: 8 * mega, argumentBytesMax: 2 * mega, callsMax: 40 }

const tooLong = /stopped after 8 MiB, and what had arrived is kept\. .*answer\.bytesMax in the config/
const longArguments =
  /arguments of one tool call are longer than 2 MiB.*answer\.argumentBytesMax in the config/
const manyCalls = /more than 40 tool calls.*answer\.callsMax in the config/

/** What becomes of each kind of answer. */
const outcomes: Record<
  HostileAnswer["kind"],
  { size: number; shows: Partial<Record<keyof HostileReport, unknown>> }
> = {
  html: { size: 400 * mega, shows: { retries: 1, textLength: "Done.".length } },
  error: {
    size: 400 * mega,
    shows: { error: expect.stringMatching(/refused the request \(400\)/), retries: 0 },
  },
  json: { size: 400 * mega, shows: { error: expect.stringMatching(tooLong), retries: 0 } },
  line: { size: 400 * mega, shows: { error: expect.stringMatching(tooLong), retries: 0 } },
  text: { size: 400 * mega, shows: { error: expect.stringMatching(tooLong), retries: 0 } },
  event: { size: 20 * mega, shows: { error: expect.stringMatching(tooLong), retries: 0 } },
  arguments: { size: 6 * mega, shows: { error: expect.stringMatching(longArguments), retries: 0 } },
  "argument-event": { size: 6 * mega, shows: { error: expect.stringMatching(longArguments), retries: 0 } },
  calls: { size: 10_000, shows: { error: expect.stringMatching(manyCalls), retries: 0, calls: 40 } },
}

/** These bodies never reach the part of a package that knows its API. */
const apart: readonly string[] = ["html", "json", "line"]

/** Google has no deltas of arguments. */
const kindsOf = (api: HostileApi) =>
  (Object.keys(outcomes) as HostileAnswer["kind"][]).filter((kind) =>
    api === "google"
      ? kind !== "arguments" && !apart.includes(kind)
      : api === "chat" || !apart.includes(kind),
  )

test.each(["chat", "responses", "anthropic", "google"] as const)(
  "answers of any kind and size are stopped at their bounds: %s",
  async (api) => {
    const answers = kindsOf(api).map((kind) => ({ api, kind, size: outcomes[kind].size }))
    const reports = await measureAnswers(server, { answers, bounds })
    expect(reports.map(({ model }) => model)).toHaveLength(answers.length)
    for (const [index, report] of reports.entries()) {
      const { kind } = answers[index]!
      expect(report).toMatchObject(outcomes[kind].shows)
      // The text that arrived before the bound is kept: 8 MiB in memory are 4 Mi characters.
      if (kind === "text") expect(report.textLength).toBeGreaterThan(3.5 * mega)
      // Far less than the server sends, and room for a heap that grows before it is collected.
      expect({ kind, megabytes: Math.round((report.peak - report.before) / mega) }).toEqual({
        kind,
        megabytes: expect.toSatisfy((value: number) => value < 160),
      })
    }
  },
)
