import { join } from "node:path"
import { createClient } from "../../../src/client/index.ts"
import { home, type StartOptions } from "../../cli/program-process.ts"
import { type Answer, type ServedRequest, startModelServer } from "../model-server/server.ts"
import { until } from "../run-scene.ts"
import { ToldText } from "./told-text.ts"

const prints = "for i in $(seq 2000); do echo line $i; sleep 0.01; done"

/** To `repeat WORD` the model streams the word for long, to `print lines` it calls a command that prints for long. */
function answer({ bytes, body }: ServedRequest): Answer {
  if (bytes.includes("print lines") && !bytes.includes('"role":"tool"')) {
    return { calls: [{ tool: "bash", input: { command: prints, description: "prints" } }] }
  }
  const word = /repeat ([a-z]+)/.exec(JSON.stringify(body.messages.at(-1)))?.[1] ?? "word"
  return { text: Array.from({ length: 4000 }, (_, index) => `${word}${index} `), tokenDelayMs: 5 }
}

export interface StreamingOptions extends StartOptions {
  /** The prompts, one for each session. */
  prompts?: string[]
}

/** A real server whose sessions stream text and printed output, and a subscriber that records what it is told. */
export async function streamingServer(options: StreamingOptions = {}) {
  const { prompts = ["repeat one", "repeat two", "print lines"], ...start } = options
  const stack = new AsyncDisposableStack()
  const directory = stack.use(await home())
  const models = stack.use(await startModelServer({ fallback: answer }))
  await directory.config({ ...models.config(), title: false, permission: { bash: "allow" } })
  const server = await directory.serve([], start)
  const client = createClient({ baseUrl: server.url, token: server.token })
  const told = new ToldText()
  const ended = new AbortController()
  const following: Promise<void>[] = []
  for (const text of prompts) {
    const session = client.session((await client.sessions.create()).id)
    const events = session.events({ signal: ended.signal })
    following.push(
      (async () => {
        for await (const event of events) told.take(event)
      })(),
    )
    await events.ready
    await session.prompt({ text })
  }
  const flowing = () => [...told.parts.values()].filter((part) => part.told.length > 5)
  await until("all sessions stream", () => flowing().length >= prompts.length)
  return {
    database: join(directory.data, "stemma.db"),
    told,
    pid: server.child.pid!,
    /** Returns when the server was killed. */
    async kill(): Promise<number> {
      const killedMs = performance.now()
      server.child.kill("SIGKILL")
      await server.ended
      ended.abort()
      await Promise.allSettled(following)
      return killedMs
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
