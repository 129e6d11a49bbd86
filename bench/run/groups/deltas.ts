import type { SessionHandle, Stemma } from "../../../src/index.ts"
import type { Bench } from "../../bench.ts"
import { median } from "../../measure.ts"
import { makeSetup, openBenchStemma } from "../setup.ts"
import { calm, turn, turns } from "../turns.ts"
import { bareLoop, doStreamAlone, recordRequests } from "../ways.ts"

const warmUpRounds = 2

/** A long answer at full speed, with one subscriber that reads every delta, and every flush committed. */
export async function benchDeltas(bench: Bench): Promise<void> {
  const words = bench.quick ? 5000 : 50_000
  const rounds = bench.quick ? 3 : 12
  await using setup = await makeSetup()
  const recorder = recordRequests()
  await using stemma = await openBenchStemma(setup, recorder.fetch)
  const prompt = `say ${words}`
  await turns(await stemma.sessions.create(), 20)
  await turn(await stemma.sessions.create(), prompt)
  const sent = recorder.last()
  const bare = bareLoop(sent)
  const doStream = doStreamAlone(sent)
  const rates: Record<"bare" | "doStream" | "stemma", number[]> = { bare: [], doStream: [], stemma: [] }
  const reads: Read[] = []
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    // A new session each time, because the long answers of earlier rounds would be in the context.
    const session = await stemma.sessions.create()
    const ways = { bare, doStream, stemma: async () => reads.push(await readAnswer(stemma, session, prompt)) }
    const names = Object.keys(ways) as (keyof typeof ways)[]
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      await calm(stemma, session)
      const start = performance.now()
      await ways[name]()
      if (round >= warmUpRounds) rates[name].push((words / (performance.now() - start)) * 1000)
    }
  }
  const long = words.toLocaleString("en-US")
  bench.add({
    name: `${long} deltas with a subscriber and commits, beside doStream`,
    value: median(rates.stemma),
    raw: median(rates.doStream),
    unit: "/s",
    target: { timesRawAtLeast: 0.8 },
  })
  bench.add({
    name: "doStream, beside the bare loop",
    value: median(rates.doStream),
    raw: median(rates.bare),
    unit: "/s",
  })
  const warm = reads.slice(warmUpRounds)
  bench.add({
    name: `events in which the subscriber was given ${long} deltas`,
    value: median(warm.map(({ events }) => events)),
    unit: "",
  })
  bench.add({
    name: "from the prompt to the first text that the subscriber saw",
    value: median(warm.map(({ firstMs }) => firstMs)),
    unit: "ms",
  })
}

interface Read {
  /** Deltas with text. */
  events: number
  firstMs: number
}

/** From the prompt until the reply is there and the subscriber has read all of it, as a client does that shows it. */
async function readAnswer(stemma: Stemma, session: SessionHandle, prompt: string): Promise<Read> {
  // The length of each text; a client that shows it keeps the text itself.
  const lengths = new Map<string, number>()
  let events = 0
  let firstMs = 0
  const begin = performance.now()
  const see = (partID: string, length: number) => {
    if (firstMs === 0) firstMs = performance.now() - begin
    events++
    lengths.set(partID, length)
  }
  const subscribed = (async () => {
    for await (const event of stemma.events({ scope: { sessionID: session.id } })) {
      if (event.type === "message.part.delta") {
        const { partID, offset, delta } = event.properties
        const before = lengths.get(partID) ?? 0
        if (offset !== before) throw new Error(`A delta at ${offset} came after ${before}.`)
        see(partID, before + delta.length)
      } else if (event.type === "message.part.updated") {
        const { part } = event.properties
        if (part.type === "text" && part.text.length > prompt.length) see(part.id, part.text.length)
      } else if (event.type === "session.idle") return
    }
    throw new Error("The subscription ended before the answer did.")
  })()
  const reply = await session.prompt(prompt)
  await subscribed
  if (![...lengths.values()].includes(reply.text.length)) throw new Error("The subscriber saw another text.")
  return { events, firstMs }
}
