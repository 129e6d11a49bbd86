import { writeFile } from "node:fs/promises"
import { Session } from "node:inspector/promises"
import { join } from "node:path"
import { type ConfigInput, openStemma } from "../../../src/index.ts"
import { createServer } from "../../../src/server/index.ts"
import { startModelServer } from "../model-server/server.ts"
import { temporaryDirectory } from "../temporary-directory.ts"

/**
 * Sends prompts to a real server on SQLite, with a real provider package and a model server on loopback, and prints as JSON
 * which functions of which files in src/ ran for the last prompt, from the request to the last frame of an open event stream.
 * The model reads a file and then answers. Run as a process of its own: coverage is counted for the whole process.
 */
const token = "a-token-for-the-walk-0123456789"
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }

await using directory = await temporaryDirectory()
await using models = await startModelServer()
await writeFile(join(directory.path, "menu.txt"), "oolong\n")
const stemma = await openStemma({
  directory: directory.path,
  data: join(directory.path, ".data"),
  env: { HOME: directory.path, PATH: process.env.PATH },
  config: models.config() as ConfigInput,
  // On a busy machine commits are slow, and text then waits for its commit.
  timing: { slowCommitMs: 60_000 },
})
const server = createServer(stemma, { token })
const { url } = await server.listen({ port: 0 })
const created = await fetch(`${url}/sessions`, { method: "POST", headers, body: "{}" })
const { id } = (await created.json()) as { id: string }
const stream = await fetch(`${url}/sessions/${id}/event`, { headers })
const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()

// The first prompts load modules and fill caches; the walk describes any later prompt.
await answered("one")
await answered("two")
const coverage = await record(() => answered("three"))
await reader.cancel()
await server.close()
await stemma.close()
process.stdout.write(JSON.stringify(coverage))

async function answered(text: string): Promise<void> {
  models.script(
    { text: "Reading.", calls: [{ tool: "read", input: { filePath: "menu.txt" } }] },
    { text: ["The menu ", "has oolong."], tokenDelayMs: 5 },
  )
  const body = JSON.stringify({ text })
  const response = await fetch(`${url}/sessions/${id}/prompt`, { method: "POST", headers, body })
  if (!response.ok) throw new Error(await response.text())
  for (let seen = ""; !seen.includes("session.idle"); ) {
    const { value, done } = await reader.read()
    if (done) throw new Error("The event stream ended before the session was idle.")
    seen += value
  }
}

async function record(work: () => Promise<void>): Promise<Record<string, string[]>> {
  const session = new Session()
  session.connect()
  await session.post("Profiler.enable")
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
  await session.post("Profiler.takePreciseCoverage")
  await work()
  const { result } = await session.post("Profiler.takePreciseCoverage")
  session.disconnect()
  const src = new URL("../../../src/", import.meta.url).href
  const ran: Record<string, string[]> = {}
  for (const script of result.filter((one) => one.url.startsWith(src))) {
    // The first function is the module itself, which ran when it was loaded.
    const names = script.functions
      .filter(({ ranges }) => ranges[0]!.count > 0 && ranges[0]!.startOffset > 0)
      .map(({ functionName }) => functionName)
    if (names.length > 0) ran[`src/${script.url.slice(src.length)}`] = [...new Set(names)]
  }
  return ran
}
