/**
 * Serves a story until it is killed. Started by `crash-lane.ts`; waits for a message with the directory, and answers
 * with the port once it listens.
 */
import { flushCompileCache } from "node:module"
import "../../../src/stores/sqlite/index.ts"
import { createServer } from "../../../src/server/index.ts"
import { dieWithParent } from "../children/lifeline.ts"
import { openStory } from "./story-scene.ts"

export interface ServeGo {
  root: string
  /** 0 is any free port. */
  port: number
  token: string
}

export type ServeProgress = "ready" | { port: number }

const fail = (error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
}

async function serve({ root, port, token }: ServeGo): Promise<void> {
  const stemma = await openStory(root, { onWarning: fail })
  // Clients also connect through a proxy, which has its own port.
  const server = createServer(stemma, { token, hosts: ["127.0.0.1"], interactive: true, onWarning: fail })
  const listening = await server.listen({ port })
  process.send!({ port: listening.port } satisfies ServeProgress)
}

process.on("unhandledRejection", fail)
dieWithParent(600_000)
flushCompileCache()
process.once("message", (go: ServeGo) => void serve(go).catch(fail))
process.send!("ready" satisfies ServeProgress)
