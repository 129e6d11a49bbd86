import { readFileSync } from "node:fs"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { OpenApiDocument } from "../../src/server/openapi/openapi.ts"
import { repeats, testSeed } from "../support/seed.ts"
import {
  AnswerCheck,
  type FuzzAnswer,
  inTime,
  sendInProcess,
  sendOverNetwork,
} from "../support/server/fuzz-answers.ts"
import { type FuzzRequest, requestsOf } from "../support/server/fuzz-requests.ts"
import { type FuzzWorld, fuzzWorld } from "../support/server/fuzz-world.ts"

const document = JSON.parse(readFileSync("schema/openapi.json", "utf8")) as OpenApiDocument
const requests = requestsOf(document)
const seed = testSeed("fuzz")

describe("requests generated from the OpenAPI document", () => {
  let world: FuzzWorld
  const check = new AnswerCheck(document)

  beforeAll(async () => {
    world = await fuzzWorld()
  })
  afterAll(() => world[Symbol.asyncDispose]())

  type Send = (world: FuzzWorld, request: FuzzRequest) => Promise<FuzzAnswer>

  /** Fails if the answer is missing or wrong, or if a refused request changed something. */
  async function play(given: FuzzRequest, send: Send): Promise<void> {
    const request = world.resolve(given)
    const { answer, change } = await observe(request, send)
    const shown = () =>
      `${JSON.stringify(request).slice(0, 3000)}\n${answer.status} ${answer.body.slice(0, 1000)}`
    const problem = check.problemOf(request, answer)
    if (problem) throw new Error(`${problem}\n${shown()}`)
    if (change === undefined && !isRefused(answer) && request.method !== "GET") await world.settle(request)
    if (change === undefined) return
    // Earlier work may have ended just now. Only a change that the same request causes again is its effect.
    await world.settle()
    await new Promise((resolve) => setTimeout(resolve, 300))
    const again = await observe(request, send)
    if (again.change) throw new Error(`It was refused, and something changed: ${change}\n${shown()}`)
  }

  async function observe(
    request: FuzzRequest,
    send: Send,
  ): Promise<{ answer: FuzzAnswer; change: string | undefined }> {
    const before = await world.fingerprint()
    const answer = await inTime(send(world, request))
    return { answer, change: isRefused(answer) ? await world.changeSince(before, request) : undefined }
  }

  function isRefused({ status }: FuzzAnswer): boolean {
    return status >= 400 && status < 500
  }

  test("many valid and invalid requests get documented answers, and a refused request changes nothing", async () => {
    await fc.assert(
      fc.asyncProperty(requests, (request) => play(request, sendInProcess)),
      { ...seed, numRuns: repeats({ test: 2200, soak: 20_000 }) },
    )
    const total = check.statuses.values().reduce((sum, count) => sum + count, 0)
    const good = check.statuses.get(200)! / total
    expect(good).toBeGreaterThan(0.1)
    expect(good).toBeLessThan(0.9)
  })

  test("requests over the network get documented answers too", async () => {
    await fc.assert(
      fc.asyncProperty(requests, (request) => play(request, sendOverNetwork)),
      { ...seed, seed: seed.seed + 1, numRuns: repeats({ test: 250, soak: 2000 }) },
    )
  })

  test("the generated requests contain a successful call of nearly every operation", () => {
    const never = check.names.filter((name) => !check.done.has(name))
    expect(never.length, never.join(", ")).toBeLessThan(check.names.length / 5)
  })

  test("the store has no problems afterwards", async () => {
    expect(await world.stemma.store.check()).toEqual({ problems: [] })
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})
