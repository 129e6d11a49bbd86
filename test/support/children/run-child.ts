/**
 * Answers one prompt, or continues its answer, until it is killed. Prints what a subscriber sees to stdout, with the
 * time of the system's monotonic clock. Started by `run/crash-lane.ts`; waits for a message with its orders.
 */
import { writeSync } from "node:fs"
import { flushCompileCache } from "node:module"
import "@ai-sdk/openai-compatible"
import { openStore, type StemmaEvent, type Store } from "../../../src/index.ts"
import "../../../src/stores/sqlite/index.ts"
import { openShared, type SharedScene, sharedPaths } from "../run/scene.ts"
import { storeWith } from "../run/store-with.ts"
import { dieWithParent } from "./lifeline.ts"

export interface RunGo {
  scene: SharedScene
  sessionID: string
  prompts: { messageID: string; text: string }[]
  /** Continue the work of a dead process. */
  recover: boolean
  /** A person is present to answer questions. */
  interactive?: boolean
  /** The process kills itself right before or after a commit, counted from 0. */
  dieAt?: { commit: number; when: "before" | "after" }
}

export type RunLine = { atMs: number } & (
  | { event: StemmaEvent }
  | { beat: true }
  | { replied: string; finish: string | undefined }
  | { failed: string }
)

/** What the process reports to its parent immediately. */
export type RunProgress = "commit" | "done"

const nowMs = () => Number(process.hrtime.bigint()) / 1e6
type Printed<T = RunLine> = T extends RunLine ? Omit<T, "atMs"> : never
const print = (line: Printed) => writeSync(1, `${JSON.stringify({ atMs: nowMs(), ...line })}\n`)

async function work(go: RunGo): Promise<void> {
  // Time in which the process did not run does not count against the promise.
  setInterval(() => print({ beat: true }), 10)
  const store = mortal(await openStore({ path: sharedPaths(go.scene).database }), go)
  const stemma = await openShared(go.scene, {
    store,
    recover: go.recover,
    interactive: go.interactive ?? false,
    onWarning: (error) => print({ failed: `warning: ${String(error)}` }),
  })
  const session = await stemma.sessions.create({ id: go.sessionID })
  const listen = async () => {
    for await (const event of session.events()) print({ event })
  }
  listen().catch(fail)
  const replies = go.prompts.map(async ({ messageID, text }) => {
    const { message } = await session.prompt(text, { messageID, delivery: "queue" })
    print({ replied: messageID, finish: message.finish })
  })
  await Promise.all(replies)
  process.send!("done" satisfies RunProgress)
}

/** A store that kills its process at a commit. */
function mortal(store: Store, { dieAt }: RunGo): Store {
  let commits = 0
  const dieIf = (isDue: boolean) => {
    if (isDue) process.kill(process.pid, "SIGKILL")
  }
  const commit: Store["commit"] = async (...args) => {
    const isDue = commits++ === dieAt?.commit
    dieIf(isDue && dieAt?.when === "before")
    const committed = await store.commit(...args)
    dieIf(isDue)
    process.send!("commit" satisfies RunProgress)
    return committed
  }
  return storeWith(store, { commit })
}

function fail(error: unknown): void {
  print({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  process.send!("done" satisfies RunProgress)
}

process.on("unhandledRejection", fail)
dieWithParent()
// A killed process writes no compile cache. Writing it here makes the next processes start faster.
flushCompileCache()
process.once("message", (go: RunGo) => void work(go).catch(fail))
process.send!("ready")
