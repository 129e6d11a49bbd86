import { expect, test } from "vitest"
import { noTokens } from "../../protocol/index.ts"
import { Metrics } from "./metrics.ts"

const noneWaiting = { place: 0, lease: 0 }

test("a histogram counts each duration in its bucket and in all larger ones", () => {
  const metrics = new Metrics()
  for (const ms of [0.4, 0.5, 0.6, 30, 4_000, 60_000]) metrics.committed(ms)
  const { duration } = metrics.snapshot(noneWaiting).commits
  expect(
    Object.fromEntries(duration.buckets.map(({ atMostSeconds, count }) => [atMostSeconds, count])),
  ).toEqual({
    0.0005: 2,
    0.001: 3,
    0.0025: 3,
    0.005: 3,
    0.01: 3,
    0.025: 3,
    0.05: 4,
    0.1: 4,
    0.25: 4,
    1: 4,
    5: 5,
  })
  expect(duration.count).toBe(6)
  expect(duration.sumSeconds).toBeCloseTo(64.0315)
})

test("models beyond the first 200 are counted as `other`", () => {
  const metrics = new Metrics()
  const one = { tokens: { ...noTokens(), input: 1 }, cost: 0.5 }
  for (let n = 0; n < 300; n++) metrics.spent({ providerID: "p", modelID: `m${n}` }, one)
  metrics.spent({ providerID: "p", modelID: "m7" }, one)
  const { models } = metrics.snapshot(noneWaiting)
  expect(models).toHaveLength(201)
  expect(models.find(({ modelID }) => modelID === "m7")).toMatchObject({ tokens: { input: 2 }, cost: 1 })
  expect(models.at(-1)).toMatchObject({
    providerID: "other",
    modelID: "other",
    tokens: { input: 100 },
    cost: 50,
  })
})

test("a model with a very long name is counted as `other`", () => {
  const metrics = new Metrics()
  metrics.firstToken({ providerID: "p", modelID: "m".repeat(10_000) }, 5)
  expect(metrics.snapshot(noneWaiting).models).toMatchObject([
    { providerID: "other", firstToken: { count: 1 } },
  ])
})

test("tools beyond the first 100 are counted as `other`", () => {
  const metrics = new Metrics()
  for (let n = 0; n < 150; n++) {
    metrics.toolRan(`tool${n}`, 1)
    metrics.callEnded(`tool${n}`, "completed")
  }
  const { tools } = metrics.snapshot(noneWaiting)
  expect(tools).toHaveLength(101)
  expect(tools.at(-1)).toMatchObject({ tool: "other", completed: 50, duration: { count: 50 } })
})

test("a step with an unknown finish is counted as `other`", () => {
  const metrics = new Metrics()
  metrics.stepEnded("stop", 1)
  for (const finish of ["made up", "__proto__", "constructor"]) metrics.stepEnded(finish, 1)
  expect(metrics.snapshot(noneWaiting).steps).toEqual({ stop: 1, other: 3 })
})

test("a snapshot does not change afterwards", () => {
  const metrics = new Metrics()
  const ref = { providerID: "p", modelID: "m" }
  metrics.runStarted()
  metrics.spent(ref, { tokens: noTokens(), cost: 0 })
  const before = metrics.snapshot(noneWaiting)
  const copy = structuredClone(before)
  metrics.runEnded("stop")
  metrics.spent(ref, { tokens: { ...noTokens(), cache: { read: 5, write: 5 } }, cost: 1 })
  metrics.sessionCreated("new")
  expect(before).toEqual(copy)
})
