import { readFileSync, writeFileSync } from "node:fs"
import fc from "fast-check"
import { test } from "vitest"
import { AnswerCheck, inTime, sendInProcess, sendOverNetwork } from "../support/server/fuzz-answers.ts"
import { requestsOf } from "../support/server/fuzz-requests.ts"
import { fuzzWorld } from "../support/server/fuzz-world.ts"
test("collect", async () => {
  const document = JSON.parse(readFileSync("schema/openapi.json", "utf8"))
  const world = await fuzzWorld()
  const check = new AnswerCheck(document)
  const found = new Map<string, { n: number; show: string }>()
  const n = Number(process.env.N ?? 3000)
  const slow: [number, string][] = []
  const t0 = Date.now()
  for (const given of fc.sample(requestsOf(document), { seed: Number(process.env.SEED ?? 1), numRuns: n })) {
    const request = world.resolve(given)
    if (Date.now() - t0 > 60_000) break
    writeFileSync("/tmp/g/last.txt", JSON.stringify(request))
    const before = await world.fingerprint()
    const note = (problem: string, show: string) => {
      const key = `${request.method} ${request.template}: ${problem.slice(0, 150)}`
      const e = found.get(key) ?? { n: 0, show }
      e.n++
      found.set(key, e)
    }
    const t = performance.now()
    try {
      const answer = await inTime((process.env.NET ? sendOverNetwork : sendInProcess)(world, request))
      const show = JSON.stringify(request).slice(0, 700) + "\n   -> " + answer.status + " " + answer.body.slice(0, 500)
      const p = check.problemOf(request, answer)
      if (p) note(p, show)
      if (answer.status >= 400 && answer.status < 500) { const c = await world.changeSince(before, request); if (c) note("refused and changed", show + c) }
      if (!(answer.status >= 400 && answer.status < 500) && request.method !== "GET") await inTime(world.settle()).catch((e) => note("settle " + e + (e.cause ? String((e.cause as any[])[0]?.stack).slice(0, 1500) : ""), show))
    } catch (e) { note(String(e), JSON.stringify(request).slice(0, 700)) }
    slow.push([performance.now() - t, `${request.method} ${request.template}`])
  }
  const out = [`${Date.now() - t0} ms`, JSON.stringify([...check.statuses]), "never: " + check.names.filter((x) => !check.done.has(x)).join(", ")]
  for (const [key, { n, show }] of found) out.push(`## ${n}x ${key}\n${show}`)
  slow.sort((a, b) => b[0] - a[0])
  out.push(JSON.stringify(slow.slice(0, 12)))
  out.push(JSON.stringify([...world.stemma.statuses()]))
  writeFileSync("/tmp/g/found.txt", out.join("\n"))
  await world[Symbol.asyncDispose]()
}, 600_000)
