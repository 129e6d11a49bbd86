/**
 * Prompts a session whose context has to be compacted, or requests a compaction, until it is killed or done. Started by
 * `run/compaction-deaths.ts`; waits for a message with its orders.
 */
import { writeSync } from "node:fs"
import { flushCompileCache } from "node:module"
import "@ai-sdk/openai-compatible"
import { openStore, type Store } from "../../../src/index.ts"
import "../../../src/stores/sqlite/index.ts"
import { compactionConfig } from "../run/compaction-answers.ts"
import { openShared, type SharedScene, sharedPaths } from "../run/scene.ts"
import { storeWith } from "../run/store-with.ts"
import { dieWithParent } from "./lifeline.ts"

export interface CompactionGo {
  scene: SharedScene
  sessionID: string
  prompts: { messageID: string; text: string }[]
  /** Requests a compaction, beside the prompts. */
  compacts?: boolean
  /** Continues the work of a dead process. */
  recover?: boolean
  /** The process kills itself: right before or after a commit, counted from 0, or the commit of a compaction. */
  dieAt?: { commit: number | "compaction"; when: "before" | "after" }
}

export type CompactionLine =
  | { replied: string; finish: string | undefined; text: string }
  | { compacted: string }
  | { refused: string }
  | { failed: string }

const print = (line: CompactionLine) => writeSync(1, `${JSON.stringify(line)}\n`)

async function work(go: CompactionGo): Promise<void> {
  const store = mortal(await openStore({ path: sharedPaths(go.scene).database }), go)
  const stemma = await openShared(go.scene, {
    store,
    recover: go.recover ?? false,
    config: compactionConfig,
    onWarning: (error) => print({ failed: `warning: ${String(error)}` }),
  })
  const session = await stemma.sessions.get(go.sessionID)
  const replies = go.prompts.map(async ({ messageID, text }) => {
    const reply = await session.prompt(text, { messageID, delivery: "queue" })
    print({ replied: messageID, finish: reply.message.finish, text: reply.text })
  })
  const compact = async () => {
    await session.compact().then(
      ({ messageID }) => print({ compacted: messageID }),
      (error) => print({ refused: String(error) }),
    )
  }
  await Promise.all([...replies, go.compacts && compact()])
  await stemma.close()
  await store.close()
  process.exit(0)
}

/** A store that kills its process at a commit. */
function mortal(store: Store, { dieAt }: CompactionGo): Store {
  let commits = 0
  const commit: Store["commit"] = async (input) => {
    const number = commits++
    const isCompaction = JSON.stringify(input.ops).includes('"type":"compaction"')
    const isDue =
      dieAt !== undefined && (dieAt.commit === "compaction" ? isCompaction : dieAt.commit === number)
    if (isDue && dieAt.when === "before") process.kill(process.pid, "SIGKILL")
    const committed = await store.commit(input)
    if (isDue) process.kill(process.pid, "SIGKILL")
    return committed
  }
  return storeWith(store, { commit })
}

function fail(error: unknown): void {
  print({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  process.exit(1)
}

process.on("unhandledRejection", fail)
dieWithParent()
// A killed process writes no compile cache. Writing it here makes the next processes start faster.
flushCompileCache()
process.once("message", (go: CompactionGo) => void work(go).catch(fail))
process.send!("ready")
