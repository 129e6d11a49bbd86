import { expect, test } from "vitest"
import { noTokens } from "../../protocol/index.ts"
import { Metrics } from "../../run/telemetry/metrics.ts"
import { prometheusText } from "./metrics.ts"
import { ProcessMeter } from "./process-figures.ts"

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

interface Family {
  help: string
  type: string
  samples: Sample[]
}

const metricName = "[a-zA-Z_:][a-zA-Z0-9_:]*"
const sampleLine = new RegExp(`^(${metricName})(?:\\{(.*)\\})? (\\S+)$`)
const labelPair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y

/** Parses the text format 0.0.4 strictly. */
function parse(text: string): Map<string, Family> {
  if (!text.endsWith("\n")) throw new Error("The last line does not end.")
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let family: (Family & { name: string }) | undefined
  for (const line of text.slice(0, -1).split("\n")) {
    const help = new RegExp(`^# HELP (${metricName}) (.+)$`).exec(line)
    if (help) {
      if (families.has(help[1]!)) throw new Error(`${help[1]} comes twice.`)
      family = { name: help[1]!, help: help[2]!, type: "", samples: [] }
      families.set(family.name, family)
      continue
    }
    const type = new RegExp(`^# TYPE (${metricName}) (counter|gauge|histogram)$`).exec(line)
    if (type) {
      if (type[1] !== family?.name || family?.type !== "") throw new Error(`Misplaced: ${line}`)
      family!.type = type[2]!
      continue
    }
    const sample = parseSample(line)
    const suffixes = family?.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""]
    if (!family?.type || !suffixes.some((suffix) => sample.name === family!.name + suffix)) {
      throw new Error(`Outside its family: ${line}`)
    }
    const key = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`
    if (seen.has(key)) throw new Error(`Twice: ${line}`)
    seen.add(key)
    family.samples.push(sample)
  }
  for (const [name, { type, samples }] of families) checkFamily(name, { type, samples })
  return families
}

function parseSample(line: string): Sample {
  const match = sampleLine.exec(line)
  if (!match) throw new Error(`No sample: ${line}`)
  const labels: Record<string, string> = {}
  const given = match[2] ?? ""
  labelPair.lastIndex = 0
  while (labelPair.lastIndex < given.length) {
    const pair = labelPair.exec(given)
    if (!pair || pair[1]! in labels) throw new Error(`No labels: ${line}`)
    labels[pair[1]!] = pair[2]!.replace(/\\(["\\n])/g, (_, letter) => (letter === "n" ? "\n" : letter))
  }
  const value = match[3] === "+Inf" ? Number.POSITIVE_INFINITY : Number(match[3])
  if (Number.isNaN(value)) throw new Error(`No value: ${line}`)
  return { name: match[1]!, labels, value }
}

function checkFamily(name: string, { type, samples }: Omit<Family, "help">): void {
  if (samples.length === 0) throw new Error(`${name} has no samples.`)
  if (type === "counter" && !name.endsWith("_total")) throw new Error(`${name} is a counter without _total.`)
  if (type === "counter" && samples.some(({ value }) => value < 0)) throw new Error(`${name} is negative.`)
  if (type === "histogram") checkHistogram(name, samples)
}

function checkHistogram(name: string, samples: Sample[]): void {
  const of = (suffix: string) => samples.filter((sample) => sample.name === `${name}${suffix}`)
  for (const { labels, value: count } of of("_count")) {
    const isSame = (sample: Sample) =>
      Object.entries(labels).every(([key, text]) => sample.labels[key] === text)
    const buckets = of("_bucket").filter(isSame)
    const bounds = buckets.map(({ labels: { le } }) =>
      le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le),
    )
    if (bounds.some((bound, index) => index > 0 && !(bound > bounds[index - 1]!)))
      throw new Error(`${name}: le`)
    if (buckets.some(({ value }, index) => index > 0 && value < buckets[index - 1]!.value)) {
      throw new Error(`${name}: the buckets shrink`)
    }
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || buckets.at(-1)!.value !== count) {
      throw new Error(`${name}: +Inf`)
    }
    if (of("_sum").filter(isSame).length !== 1) throw new Error(`${name}: no sum`)
  }
}

const processFigures = {
  startedAtSeconds: 1_700_000_000.5,
  cpuSeconds: 1.25,
  residentBytes: 50_000_000,
  heapUsedBytes: 1,
  heapTotalBytes: 2,
}

function textOf(metrics: Metrics): string {
  const snapshot = metrics.snapshot({ place: 2, lease: 1 })
  return prometheusText(snapshot, { subscribers: 3, process: processFigures })
}

function valuesOf(families: Map<string, Family>, name: string): [Record<string, string>, number][] {
  return families.get(name)!.samples.map(({ labels, value }) => [labels, value])
}

test("a Stemma without any work has readable metrics", () => {
  const families = parse(textOf(new Metrics()))
  expect(valuesOf(families, "stemma_runs_started_total")).toEqual([[{}, 0]])
  expect(valuesOf(families, "stemma_runs_waiting")).toEqual([
    [{ reason: "place" }, 2],
    [{ reason: "lease" }, 1],
  ])
  expect(valuesOf(families, "stemma_event_subscribers")).toEqual([[{}, 3]])
  expect(valuesOf(families, "process_resident_memory_bytes")).toEqual([[{}, 50_000_000]])
})

test("every metric is there, with its labels, in seconds, bytes and dollars", () => {
  const metrics = new Metrics()
  const ref = { providerID: "openai", modelID: "gpt" }
  metrics.runStarted()
  metrics.runStarted()
  metrics.runEnded("aborted")
  metrics.stepEnded("tool-calls", 1500)
  metrics.retried("rate")
  metrics.firstToken(ref, 120)
  metrics.spent(ref, {
    tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } },
    cost: 0.000001,
  })
  metrics.toolRan("bash", 40)
  metrics.callEnded("bash", "error")
  metrics.committed(3)
  metrics.commitFailed()
  metrics.sessionCreated("child")
  metrics.questionOpened()
  const families = parse(textOf(metrics))
  const flat = [...families.values()].flatMap(({ samples }) => samples)
  const value = (name: string, labels: Record<string, string> = {}) =>
    flat.find((sample) => sample.name === name && JSON.stringify(sample.labels) === JSON.stringify(labels))
      ?.value
  const model = { provider: "openai", model: "gpt" }
  expect(value("stemma_runs_started_total")).toBe(2)
  expect(value("stemma_runs_ended_total", { outcome: "aborted" })).toBe(1)
  expect(value("stemma_runs_active")).toBe(1)
  expect(value("stemma_steps_total", { outcome: "tool-calls" })).toBe(1)
  expect(value("stemma_step_duration_seconds_sum")).toBe(1.5)
  expect(value("stemma_step_duration_seconds_bucket", { le: "1" })).toBe(0)
  expect(value("stemma_step_duration_seconds_bucket", { le: "2.5" })).toBe(1)
  expect(value("stemma_model_retries_total", { reason: "rate" })).toBe(1)
  expect(value("stemma_model_first_token_seconds_sum", model)).toBe(0.12)
  const kinds = ["input", "output", "reasoning", "cache_read", "cache_write"]
  expect(kinds.map((kind) => value("stemma_model_tokens_total", { ...model, kind }))).toEqual([1, 2, 3, 4, 5])
  expect(value("stemma_model_cost_dollars_total", model)).toBe(0.000001)
  expect(value("stemma_tool_calls_total", { tool: "bash", outcome: "error" })).toBe(1)
  expect(value("stemma_tool_duration_seconds_sum", { tool: "bash" })).toBe(0.04)
  expect(value("stemma_commits_total", { outcome: "committed" })).toBe(1)
  expect(value("stemma_commits_total", { outcome: "failed" })).toBe(1)
  expect(value("stemma_commit_duration_seconds_sum")).toBe(0.003)
  expect(value("stemma_sessions_created_total", { origin: "child" })).toBe(1)
  expect(value("stemma_permission_questions_open")).toBe(1)
})

test("a hostile model name breaks neither lines nor labels", () => {
  const metrics = new Metrics()
  const modelID = 'a"b\\c\nstemma_runs_active 99\n\\n"} 1'
  metrics.spent({ providerID: "p", modelID }, { tokens: noTokens(), cost: 0.5 })
  const families = parse(textOf(metrics))
  expect(valuesOf(families, "stemma_model_cost_dollars_total")).toEqual([
    [{ provider: "p", model: modelID }, 0.5],
  ])
  expect(valuesOf(families, "stemma_runs_active")).toEqual([[{}, 0]])
})

test("reads the process, and measures the event loop lag from the first reading on", async () => {
  const meter = new ProcessMeter()
  try {
    const first = meter.read()
    expect(first.lag).toBeUndefined()
    expect(first.residentBytes).toBeGreaterThan(10_000_000)
    expect(Math.abs(first.startedAtSeconds - (Date.now() / 1000 - process.uptime()))).toBeLessThan(60)
    let later = meter.read()
    while (!later.lag) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      later = meter.read()
    }
    expect(later.cpuSeconds).toBeGreaterThan(0)
    expect(later.lag.maxSeconds).toBeGreaterThanOrEqual(later.lag.p50Seconds)
    const text = prometheusText(new Metrics().snapshot({ place: 0, lease: 0 }), {
      subscribers: 0,
      process: later,
    })
    expect(parse(text).has("nodejs_eventloop_lag_p99_seconds")).toBe(true)
  } finally {
    meter.close()
  }
})
