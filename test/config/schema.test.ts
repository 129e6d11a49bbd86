import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { AgentConfig, Config, durationMs } from "../../src/config/files/schema.ts"
import { isSchemaCurrent } from "../../tools/config-schema.ts"

test("the shipped JSON Schema matches the code (node tools/config-schema.ts --write)", () => {
  expect(isSchemaCurrent()).toBe(true)
})

test("durations are in milliseconds", () => {
  expect(["90s", "5m", "12h", "30d", "2w", "1.5h"].map(durationMs)).toEqual([
    90_000, 300_000, 43_200_000, 2_592_000_000, 1_209_600_000, 5_400_000,
  ])
})

test("an empty config has every default", () => {
  expect(Config.parse({})).toEqual({
    ...{
      default_agent: "build",
      provider: {},
      disabled_providers: [],
      agent: {},
      tools: {},
      instructions: [],
    },
    ...{
      skills: { paths: [] },
      share: "manual",
      server: {},
      retention: {},
      keepFirstMessage: false,
      snapshot: true,
      idleTimeoutMs: 120_000,
      command: {},
    },
    answer: { bytesMax: 64 * 1024 * 1024, argumentBytesMax: 16 * 1024 * 1024, callsMax: 1000 },
    compaction: { auto: true, prune: true },
    experimental: { continue_loop_on_deny: false, primary_tools: [] },
    task: { concurrency: 8, depth: 1, deadlineMs: 1_800_000 },
    title: true,
  })
})

test("docs/config.md names every setting and every field of an agent", () => {
  const page = readFileSync("docs/config.md", "utf8")
  const names = [...Object.keys(Config.shape), ...Object.keys(AgentConfig.shape)]
  expect(names.filter((name) => name !== "$schema" && !page.includes(`\`${name}\``))).toEqual([])
})
