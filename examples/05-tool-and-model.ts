// A tool of one's own, and a model that plays a script. Run it: node examples/05-tool-and-model.ts
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { z } from "zod"
import { createScriptedModel, openStemma, type Tool } from "../src/index.ts"

// The model is told the name, the description and the input. Whatever it sends is checked before anything runs.
const brew: Tool<{ tea: string; cups: number }> = {
  name: "brew",
  description: "Brews tea. Takes a minute a cup.",
  input: z.object({ tea: z.string(), cups: z.number().int().min(1).max(8) }),
  // Nobody wants a second pot because a process crashed while the first was brewing.
  replay: "never",
  // It changes no files, so no snapshot of them is taken before it.
  writes: false,
  // What it needs permission for. Rules match the patterns; `always` is what a person may allow for good.
  wants: async ({ tea }) => [{ permission: "brew", patterns: [tea], always: [tea] }],
  // Runs once everything above is permitted. An error thrown here becomes a result that the model sees.
  execute: async ({ tea, cups }, { progress }) => {
    progress({ title: `heating water for ${cups}` })
    return { title: `${cups} of ${tea}`, output: `${cups} cups of ${tea} are ready.` }
  },
}

// Answers in order. A model of your own needs no more than what this one is: a `Model` with a `stream` method.
const model = createScriptedModel([
  { text: "I make tea.", calls: [{ tool: "brew", input: { tea: "oolong", cups: 2 } }] },
  { text: "Is there coffee?", calls: [{ tool: "brew", input: { tea: "coffee", cups: 1 } }] },
  { text: "Too many.", calls: [{ tool: "brew", input: { tea: "oolong", cups: 100 } }] },
  // A failure that can pass: it is asked again, and the next answer counts.
  { error: { kind: "rate", message: "Too many requests.", retryAfterMs: 10 } },
  { text: "There is oolong, and no coffee." },
])

const directory = await mkdtemp(join(tmpdir(), "stemma-tool-"))
const stemma = await openStemma({
  directory,
  data: join(directory, "data"),
  tools: [brew],
  models: { mine: () => model },
  config: { model: "mine/script", title: false, permission: { brew: { "*": "allow", coffee: "deny" } } },
})

const session = await stemma.sessions.create({ title: "Tea" })
const reply = await session.prompt("Two cups of tea, please.")
console.log(await session.transcript())
for (const part of reply.parts) {
  if (part.type === "retry") console.log(`\nTry ${part.attempt} failed: ${part.error.data.message}`)
}
console.log(`The model was asked ${model.requests.length} times; the answer: ${reply.text}`)

await stemma.close()
await rm(directory, { recursive: true })
