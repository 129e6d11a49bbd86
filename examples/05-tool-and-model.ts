// A custom tool, and a scripted model. Run it: node examples/05-tool-and-model.ts
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { z } from "zod"
import { createScriptedModel, openStemma, type Tool } from "../src/index.ts"

// The model gets the name, the description and the input schema. Its input is validated before the tool runs.
const brew: Tool<{ tea: string; cups: number }> = {
  name: "brew",
  description: "Brews tea. Takes a minute a cup.",
  input: z.object({ tea: z.string(), cups: z.number().int().min(1).max(8) }),
  // Recovery after a crash must not run this call again: it would brew a second pot.
  replay: "never",
  // The tool changes no files, so no snapshot is taken before the call.
  writes: false,
  // The permission that a call needs. Rules match `patterns`. `always` is the pattern that an `always` answer grants.
  wants: async ({ tea }) => [{ permission: "brew", patterns: [tea], always: [tea] }],
  // Runs once the permission is given. An error thrown here becomes the result that the model sees.
  execute: async ({ tea, cups }, { progress }) => {
    progress({ title: `heating water for ${cups}` })
    return { title: `${cups} of ${tea}`, output: `${cups} cups of ${tea} are ready.` }
  },
}

// Plays these answers in order. Your own model needs the same: a `Model` with a `stream` method.
const model = createScriptedModel([
  { text: "I make tea.", calls: [{ tool: "brew", input: { tea: "oolong", cups: 2 } }] },
  { text: "Is there coffee?", calls: [{ tool: "brew", input: { tea: "coffee", cups: 1 } }] },
  { text: "Too many.", calls: [{ tool: "brew", input: { tea: "oolong", cups: 100 } }] },
  // A failure that may pass: the call is retried, and the next answer counts.
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
