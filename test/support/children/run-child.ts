/**
 * Answers one prompt, or goes on with it, until it is killed. Says on stdout what a subscriber sees, with the time of the
 * system's monotonic clock. Started by `run/crash-lane.ts`; waits for a message that says what to do.
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
  /** Go on with what a dead process left. */
  recover: boolean
  /** Somebody is there to answer questions. */
  interactive?: boolean
  /** Kill this process by itself, right before or after a commit, counted from 0. */
  dieAt?: { commit: number; when: "before" | "after" }
}

export type RunLine = { atMs: number } & (
  | { event: StemmaEvent }
  | { beat: true }
  | { replied: string; finish: string | undefined }
  | { failed: string }
)

/** What it tells its parent at once. */
export type RunProgress = "commit" | "done"

const nowMs = () => Number(process.hrtime.bigint()) / 1e6
type Told<T = RunLine> = T extends RunLine ? Omit<T, "atMs"> : never
const print = (line: Told) => writeSync(1, `${JSON.stringify({ atMs: nowMs(), ...line })}\n`)

async function work(go: RunGo): Promise<void> {
  // Time in which nothing was written because nothing ran does not count against the promise.
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
// A killed process writes no cache; the next ones start faster with it.
flushCompileCache()
process.once("message", (go: RunGo) => void work(go).catch(fail))
process.send!("ready")
