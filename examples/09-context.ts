// A long session exceeds its model's context window, is compacted and continues. Run it: node examples/09-context.ts
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createScriptedModel, openStemma } from "../src/index.ts"

const directory = await mkdtemp(join(tmpdir(), "stemma-context-"))
await writeFile(join(directory, "shop.log"), "12:00:00 GET /cart 200 in 31 ms\n".repeat(300))

// A model with a small context window that reads a log many times. Its summaries are poor.
const read = (at: number) => ({ calls: [{ tool: "read", input: { filePath: "shop.log", offset: at * 10 } }] })
const model = createScriptedModel(
  (_, step) => (step < 6 ? read(step) : { text: "Nothing is slower than 31 ms." }),
  { ref: { providerID: "mine", modelID: "small" }, limit: { context: 24_000, output: 4_000 } },
)
for (let call = 0; call < 20; call++) model.add({ for: "compaction", text: "The log was read." })

const stemma = await openStemma({
  directory,
  data: join(directory, ".data"),
  models: { mine: () => model },
  config: { model: "mine/small", title: false },
  snapshots: false,
})
const session = await stemma.sessions.create({ title: "Slow carts" })
const reply = await session.prompt(
  "Look for slow requests in shop.log. Ignore /health. It is about ticket SHOP-417.",
)
console.log(`The answer: ${reply.text}`)

const items = await session.messages()
const compactions = items.flatMap(({ parts }) => parts.filter((part) => part.type === "compaction"))
for (const { auto, tokensBefore, tokensAfter } of compactions) {
  console.log(
    `Compacted${auto ? " by itself" : ""}: about ${tokensBefore} tokens before, ${tokensAfter} after.`,
  )
}
const { ledger = "" } = compactions.at(-1)!
console.log(`The ledger:\n${ledger}\n`)

// The size of the next model call.
const { tokens, window, hidden } = await session.context()
const { total, ...bySource } = tokens
console.log(`Next: about ${total} tokens, ${Math.round(window!.fullness * 100)} % of the window.`, bySource)
for (const { reason, messages } of hidden) console.log(`Hidden by ${reason}: ${messages} messages.`)
console.log(
  `The whole history is there: ${(await session.text()).includes("SHOP-417")}, ${items.length} messages.`,
)

await stemma.close()
await rm(directory, { recursive: true })
