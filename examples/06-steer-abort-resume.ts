// Prompts a busy session, aborts it, and continues an interrupted answer in another process. Run it:
// node examples/06-steer-abort-resume.ts
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { z } from "zod"
import { createScriptedModel, openStemma, type StemmaOptions, type Tool } from "../src/index.ts"

const hot = Promise.withResolvers<void>()
const boil: Tool = {
  name: "boil",
  description: "Boils water, which takes a while.",
  input: z.object({}),
  replay: "safe",
  writes: false,
  wants: async () => [],
  execute: async () => {
    await hot.promise
    return { title: "boiled", output: "The water boils." }
  },
}
const long = Array.from({ length: 1000 }, (_, n) => `word ${n} `)
const model = createScriptedModel([
  { text: "I boil water.", calls: [{ tool: "boil", input: {} }] },
  { text: "Tea without sugar, then." },
  { text: "Cake comes after the tea." },
  { text: long, deltaDelayMs: 5 },
  { text: long, deltaDelayMs: 5 },
  { text: "Where was I? Ah, the end." },
])

const directory = await mkdtemp(join(tmpdir(), "stemma-steer-"))
const options: StemmaOptions = {
  directory,
  data: join(directory, "data"),
  tools: [boil],
  models: { mine: () => model },
  config: { model: "mine/script", title: false },
}
const stemma = await openStemma(options)
const session = await stemma.sessions.create()

// While the tool call runs: a `steer` prompt joins the answer at its next step, a `queue` prompt waits for its end.
const first = session.prompt("Tea, please.")
await first.admitted
const queued = session.prompt("And cake?", { delivery: "queue" })
const steered = session.prompt("No sugar!", { delivery: "steer" })
// An admitted prompt is durable: it survives a crash of this process.
await Promise.all([queued.admitted, steered.admitted])
hot.resolve()
console.log(
  `first:   ${(await first).text}\nsteered: ${(await steered).text}\nqueued:  ${(await queued).text}`,
)
console.log(`\n${await session.transcript()}\n`)

// An abort ends the answer. Its text so far is kept, and the session can answer the next prompt.
const story = session.prompt("Tell a story.")
for await (const { type, properties } of story) {
  if (type === "message.part.delta" && properties.offset > 50) await session.abort("Enough.")
}
const stopped = await story
console.log(`Aborted: ${stopped.message.finish}, "${stopped.text.slice(0, 20)}..." is kept.`)

// The first close waits for running answers, the second one interrupts them: the right action for a second Ctrl-C.
for await (const { type, properties } of session.prompt("Another story.")) {
  if (type !== "message.part.delta" || properties.offset <= 50) continue
  const closing = stemma.close()
  await stemma.close()
  await closing
}

// With `recover: true` the next process continues answers that were interrupted by a close or a crash.
const again = await openStemma({ ...options, recover: true })
const resumed = await again.sessions.get(session.id)
const finish = async () =>
  (await resumed.messages({ last: 2 })).map(({ message }) => "finish" in message && message.finish)
while ((await finish()).at(-1) !== "stop") await sleep(20)
console.log(`Closed: ${(await finish())[0]}. Opened again: ${await resumed.transcript({ last: 1 })}`)
await again.close()
await rm(directory, { recursive: true })
