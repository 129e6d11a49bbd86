/**
 * Serves a Stemma with a scripted model. Answers each message with the CPU time that its main thread has used since the
 * message before, in milliseconds. Started by `test/server/body-bounds.test.ts`.
 */
import { createScriptedModel, openStemma } from "../../../src/index.ts"
import { createServer } from "../../../src/server/index.ts"
import { dieWithParent } from "./lifeline.ts"

const [directory, data, token] = process.argv.slice(2) as [string, string, string]

const model = createScriptedModel(() => ({ text: "Fine." }), {
  ref: { providerID: "scripted", modelID: "m" },
})
const stemma = await openStemma({
  directory,
  data,
  env: { PATH: process.env.PATH, HOME: data },
  models: { scripted: () => model },
  config: { model: "scripted/m", title: false, snapshot: false },
})
const server = createServer(stemma, { token, interactive: true })
const { url } = await server.listen({ port: 0 })
const session = await stemma.sessions.create()

let used = process.threadCpuUsage()
process.on("message", () => {
  const { user, system } = process.threadCpuUsage(used)
  used = process.threadCpuUsage()
  process.send!((user + system) / 1000)
})
dieWithParent()
process.stdout.write(`${JSON.stringify({ url, sessionID: session.id })}\n`)
process.send!("ready")
