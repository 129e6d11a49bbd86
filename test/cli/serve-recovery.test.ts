import { once } from "node:events"
import { createServer, type Server } from "node:net"
import { expect, test } from "vitest"
import { createClient } from "../../src/client/index.ts"
import { type ModelServer, startModelServer, words } from "../support/model-server/server.ts"
import { until } from "../support/run-scene.ts"
import { type Home, home } from "./program-process.ts"

/** Answers that take far longer than a process needs to end. */
const slowModel = () => startModelServer({ fallback: { text: words(2400), tokenDelayMs: 50 } })

async function occupiedPort(): Promise<{ port: number; other: Server }> {
  const other = createServer().listen(0, "127.0.0.1")
  await once(other, "listening")
  return { port: (other.address() as { port: number }).port, other }
}

/** A home whose server was killed while the model was answering. */
async function killedInMidAnswer(at: Home, model: ModelServer): Promise<string> {
  await at.config({ ...model.config(), title: false })
  const server = await at.serve()
  const client = createClient({ baseUrl: server.url, token: server.token })
  const { id } = await client.sessions.create()
  await client.session(id).prompt({ text: "Go on." })
  await until("text is stored", async () =>
    JSON.stringify(await client.session(id).history()).includes("word1"),
  )
  server.child.kill("SIGKILL")
  await server.ended
  expect(model.requests).toHaveLength(1)
  return id
}

test("a server whose port is in use ends at once and does not continue the answer of a killed server", async () => {
  await using model = await slowModel()
  await using at = await home()
  const id = await killedInMidAnswer(at, model)
  const { port, other } = await occupiedPort()
  try {
    const startMs = performance.now()
    const { code, stdout, stderr } = await at.run(["serve", "--port", String(port)])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toBe(`Port ${port} is in use. Choose another one, or 0 for any free port.\n`)
    // Under a second on an idle machine. The answer takes two minutes.
    expect(performance.now() - startMs).toBeLessThan(20_000)
    expect(model.requests, "the model was not called").toHaveLength(1)
  } finally {
    other.close()
  }

  const server = await at.serve()
  await until("the answer is continued", () => model.requests.length === 2)
  const { items } = await createClient({ baseUrl: server.url, token: server.token }).session(id).history()
  expect(items.map(({ message }) => message.role)).toEqual(["user", "assistant", "assistant"])
})

test("two signals right after the start end a server that continues the answer of a killed server", async () => {
  await using model = await slowModel()
  await using at = await home()
  await killedInMidAnswer(at, model)
  const server = await at.serve()
  server.child.kill("SIGTERM")
  server.child.kill("SIGINT")
  const startMs = performance.now()
  expect(await server.ended).toMatchObject({ code: 0, stderr: "" })
  expect(performance.now() - startMs).toBeLessThan(20_000)
  // A call that had begun before the second signal was cut off.
  await until("no model call is left", () => model.requests.slice(1).every(({ aborted }) => aborted))
})
