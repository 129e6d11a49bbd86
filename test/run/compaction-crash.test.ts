import { expect, test } from "vitest"
import type { CompactionLine } from "../support/children/compaction-child.ts"
import { summaryText } from "../support/run/compaction-answers.ts"
import { CompactionDeaths, expectNoFailure, prompted } from "../support/run/compaction-deaths.ts"
import { compactedIn, runCompactionLane, send, settle } from "../support/run/compaction-lane.ts"
import { compactionPart, compactionsIn } from "../support/run/compactions.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

async function open(summary?: { fault: "status"; status: number }) {
  const directory = await temporaryDirectory()
  const deaths = await CompactionDeaths.open({
    directory: directory.path,
    ...(summary && { summary }),
  })
  return {
    deaths,
    async [Symbol.asyncDispose]() {
      await deaths[Symbol.asyncDispose]()
      await directory[Symbol.asyncDispose]()
    },
  }
}

test("after a kill during an automatic compaction the history is unchanged, and the compaction runs again", async () => {
  await using here = await open()
  const { deaths } = here
  const { id, items } = await deaths.session(40)
  const prompt = prompted("say one")
  await deaths.killInSummary({ sessionID: id, prompts: [prompt] })
  const left = await deaths.left(id)
  expect(left.items).toEqual(items)
  expect(left.session.time.compacting).toBeGreaterThan(0)
  expect(left.inbox).toMatchObject([{ type: "prompt", id: prompt.messageID }])
  await using stemma = await deaths.reopen({ recover: true })
  await settle(stemma, id)
  const session = await stemma.sessions.get(id)
  expect(await deaths.problems(stemma, id, [prompt])).toEqual([])
  const after = await session.messages()
  expect(compactedIn(after)).toHaveLength(1)
  expect(compactionPart(compactedIn(after)[0]!).summary).toBe(summaryText)
  expect(await session.text()).toContain("answer to say one")
})

test("after a kill during a requested compaction the next process does it", async () => {
  await using here = await open()
  const { deaths } = here
  const { id, items } = await deaths.session(25)
  await deaths.killInSummary({ sessionID: id, prompts: [], compacts: true })
  const left = await deaths.left(id)
  expect(left.items).toEqual(items)
  expect(left.inbox).toMatchObject([{ type: "compact" }])
  await using stemma = await deaths.reopen()
  const session = await stemma.sessions.get(id)
  const prompt = prompted("say two")
  expect((await send(session, prompt)).text).toBe("answer to say two")
  expect(await deaths.problems(stemma, id, [prompt])).toEqual([])
  expect(compactedIn(await session.messages()).map(({ message }) => message.id)).toEqual([left.inbox[0]!.id])
})

test.each([
  { when: "before", recover: true },
  { when: "after", recover: true },
  { when: "after", recover: false },
] as const)(
  "after a kill right $when the commit of a compaction in a turn the turn can continue; recover $recover",
  async ({ when, recover }) => {
    await using here = await open()
    const { deaths } = here
    const { id } = await deaths.session(25)
    const prompt = prompted("loop three")
    await using child = deaths.start()
    await deaths.go(child, { sessionID: id, prompts: [prompt], dieAt: { commit: "compaction", when } })
    expect(await child.ended).toMatchObject({ signal: "SIGKILL" })
    expectNoFailure(child)
    expect(compactedIn((await deaths.left(id)).items)).toHaveLength(when === "after" ? 1 : 0)
    await using stemma = await deaths.reopen({ recover })
    const session = await stemma.sessions.get(id)
    if (!recover) {
      const reply = await send(session, prompt)
      expect(reply.message).toMatchObject({ finish: "interrupted", parentID: prompt.messageID })
      expect((await session.prompt("say next")).text).toBe("answer to say next")
      return
    }
    await settle(stemma, id)
    expect(await deaths.problems(stemma, id, [prompt])).toEqual([])
    expect(compactedIn(await session.messages())).toHaveLength(1)
    expect((await send(session, prompt)).text).toBe("answer to loop three")
  },
)

test("after a kill right after a failed compaction in a turn the turn continues", async () => {
  await using here = await open({ fault: "status", status: 400 })
  const { deaths } = here
  const { id } = await deaths.session(10)
  const prompt = prompted("loop four")
  await using child = deaths.start()
  await deaths.go(child, {
    sessionID: id,
    prompts: [prompt],
    compacts: true,
    dieAt: { commit: "compaction", when: "after" },
  })
  expect(await child.ended).toMatchObject({ signal: "SIGKILL" })
  expectNoFailure(child)
  expect(compactionsIn((await deaths.left(id)).items)).toMatchObject([{ message: { finish: "error" } }])
  await using stemma = await deaths.reopen({ recover: true })
  const session = await stemma.sessions.get(id)
  const reply = await send(session, prompt)
  expect(reply.text).toBe("answer to loop four")
  expect(await deaths.problems(stemma, id, [prompt])).toEqual([])
})

test("after a kill while the open answer was being replaced by a compaction the answer still comes", async () => {
  await using here = await open()
  const { deaths } = here
  const { id } = await deaths.session(25)
  const prompt = prompted("say five")
  deaths.server.script({ fault: "context-length" })
  await deaths.killInSummary({ sessionID: id, prompts: [prompt] })
  const left = await deaths.left(id)
  expect(left.items.at(-1)).toMatchObject({ sealed: false })
  expect(left.session.time.compacting).toBeGreaterThan(0)
  await using stemma = await deaths.reopen({ recover: true })
  await settle(stemma, id)
  expect(await deaths.problems(stemma, id, [prompt])).toEqual([])
})

const { seed } = testSeed("compaction crash")
/** `test/soak/run-compaction.test.ts` runs more of these. */
const kills = 4

test(`${kills} processes are killed at any moment of a turn that is compacted`, {
  timeout: 120_000,
}, async () => {
  await using directory = await temporaryDirectory()
  const options = { directory: directory.path, seed, kills }
  const report = await runCompactionLane(options)
  process.stdout.write(`compaction crash: ${JSON.stringify(report)}\n`)
  expect(report.kills).toBe(kills)
})

test("one process compacts while others prompt: each prompt is answered once, and there is one compaction", async () => {
  await using here = await open()
  const { deaths } = here
  const { id } = await deaths.session(25)
  const prompts = [prompted("say a1"), prompted("say a2"), prompted("say b1"), prompted("say b2")]
  await using one = deaths.start()
  await using other = deaths.start()
  await Promise.all([one.ready, other.ready])
  await Promise.all([
    deaths.go(one, { sessionID: id, prompts: prompts.slice(0, 2), compacts: true }),
    deaths.go(other, { sessionID: id, prompts: prompts.slice(2) }),
  ])
  expect(await Promise.all([one.ended, other.ended])).toMatchObject([{ code: 0 }, { code: 0 }])
  const lines = [one, other].flatMap((child) => child.lines<CompactionLine>())
  expect(lines.filter((line) => "failed" in line || "refused" in line)).toEqual([])
  expect(lines.filter((line) => "replied" in line && line.finish === "stop")).toHaveLength(4)
  await using stemma = await deaths.reopen()
  expect(await deaths.problems(stemma, id, prompts)).toEqual([])
  const found = compactedIn(await (await stemma.sessions.get(id)).messages())
  expect(found.map(({ message }) => message.id)).toEqual(
    lines.flatMap((line) => ("compacted" in line ? [line.compacted] : [])),
  )
})

test("two processes whose prompts both need a compaction make one compaction", async () => {
  await using here = await open()
  const { deaths } = here
  const { id } = await deaths.session(40)
  const prompts = [prompted("say c1"), prompted("say c2")]
  await using one = deaths.start()
  await using other = deaths.start()
  await Promise.all([one.ready, other.ready])
  for (const [index, child] of [one, other].entries()) {
    await deaths.go(child, { sessionID: id, prompts: [prompts[index]!] })
  }
  expect(await Promise.all([one.ended, other.ended])).toMatchObject([{ code: 0 }, { code: 0 }])
  await using stemma = await deaths.reopen()
  expect(await deaths.problems(stemma, id, prompts)).toEqual([])
  expect(compactedIn(await (await stemma.sessions.get(id)).messages())).toHaveLength(1)
})
