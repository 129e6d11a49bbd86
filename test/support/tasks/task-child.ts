/**
 * Sends a prompt that leads to tasks, or continues its answer, until it is killed. Started by the crash lane in this
 * directory; waits for a message with its orders.
 */
import { writeSync } from "node:fs"
import { flushCompileCache } from "node:module"
import "@ai-sdk/openai-compatible"
import { openStore } from "../../../src/index.ts"
import "../../../src/stores/sqlite/index.ts"
import { dieWithParent } from "../children/lifeline.ts"
import { type Moment, mortalStore } from "./moments.ts"
import { openTaskScene, type TaskScene, taskPaths } from "./scene.ts"

export interface TaskGo {
  scene: TaskScene
  sessionID: string
  messageID: string
  prompt: string
  /** The process kills itself at this moment, if it gets there. */
  dieAt?: Moment
}

export type TaskLine = { replied: string; finish: string | undefined } | { failed: string }

/** What the process reports to its parent immediately. */
export type TaskProgress = "commit" | "done"

const print = (line: TaskLine) => writeSync(1, `${JSON.stringify(line)}\n`)
const tell = (progress: TaskProgress) => process.send!(progress)

async function work(go: TaskGo): Promise<void> {
  const store = mortalStore(await openStore({ path: taskPaths(go.scene).database }), {
    rootID: go.sessionID,
    ...(go.dieAt && { dieAt: go.dieAt }),
    onCommit: () => tell("commit"),
  })
  const stemma = await openTaskScene(go.scene, {
    store,
    recover: true,
    onWarning: (error) => print({ failed: `warning: ${String(error)}` }),
  })
  const session = await stemma.sessions.create({ id: go.sessionID })
  const { text, message } = await session.prompt(go.prompt, { messageID: go.messageID, delivery: "queue" })
  print({ replied: text, finish: message.finish })
  tell("done")
}

function fail(error: unknown): void {
  print({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  tell("done")
}

process.on("unhandledRejection", fail)
dieWithParent()
// A killed process writes no compile cache. Writing it here makes the next processes start faster.
flushCompileCache()
process.once("message", (go: TaskGo) => void work(go).catch(fail))
process.send!("ready")
