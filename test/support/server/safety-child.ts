/**
 * Serves a Stemma until SIGTERM, as a program would: it drains, then interrupts what still runs. The words of a prompt
 * say how long its answer takes. Started by `test/server/safety-closing.test.ts`.
 */
import { createScriptedModel, openStemma } from "../../../src/index.ts"
import { createServer } from "../../../src/server/index.ts"
import { dieWithParent } from "../children/lifeline.ts"

const [directory, data, token, drainMs] = process.argv.slice(2) as [string, string, string, string]

const model = createScriptedModel(
  ({ messages }) => {
    const delayMs = Number(/wait (\d+)/.exec(JSON.stringify(messages))?.[1] ?? 0)
    return { text: "The whole answer.", delayMs }
  },
  { ref: { providerID: "scripted", modelID: "m" } },
)
const stemma = await openStemma({
  directory,
  data,
  env: { PATH: process.env.PATH, HOME: data },
  models: { scripted: () => model },
  config: { model: "scripted/m", title: false },
  recover: true,
})
const server = createServer(stemma, { token, drainMs: Number(drainMs) })
const { url } = await server.listen({ port: 0 })

process.once("SIGTERM", async () => {
  await server.close()
  const closing = stemma.close()
  await stemma.close()
  await closing
  process.disconnect()
})
dieWithParent()
process.stdout.write(`${JSON.stringify({ url })}\n`)
process.send!("ready")
