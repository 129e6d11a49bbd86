import type { SessionHandle, Stemma } from "../../src/index.ts"
import { cursorVersion } from "../../src/stream/subscriber/cursor-version.ts"
import { openBenchStemma, type Setup } from "../run/setup.ts"
import { calm, turn } from "../run/turns.ts"
import type { Calls, Work } from "./work.ts"

/** A Stemma with its own store, and a record of its work. */
export interface Crew extends AsyncDisposable {
  stemma: Stemma
  /** Makes a session for each prompt, sends all prompts at the same time, and waits for the last reply. */
  run(job: Work): Promise<void>
  /**
   * Waits until nothing runs. Fails unless exactly the calls of the work were made, each with a result. Returns
   * undefined if there was no work since the last time.
   */
  settle(): Promise<Done | undefined>
}

export interface Done {
  /** Including the children. */
  sessions: number
  calls: Calls
  commits: number
}

/** Two crews of one setup have two stores, so that the open work of one crew costs the other nothing. */
export async function openCrew(setup: Setup, name: string): Promise<Crew> {
  let modelCalls = 0
  const stemma = await openBenchStemma({ ...setup, data: `${setup.data}-${name}` }, (input, init) => {
    modelCalls++
    return fetch(input, init)
  })
  const { store } = stemma
  const versionNow = async () => cursorVersion(await store.cursor())
  let roots: SessionHandle[] = []
  let calls: Calls = { model: 0, task: 0, read: 0 }
  let version = await versionNow()
  return {
    stemma,
    async run(job) {
      calls = job.calls
      await Promise.all(
        job.prompts.map(async (prompt) => {
          const session = await stemma.sessions.create()
          roots.push(session)
          await turn(session, prompt)
        }),
      )
    },
    async settle() {
      if (roots.length === 0) return undefined
      await calm(stemma, ...roots)
      const trees = await Promise.all(roots.map(({ id }) => store.tree(id)))
      const sessions = trees.flat().map(({ id }) => id)
      const made = { model: modelCalls, ...(await toolCalls(stemma, sessions)) }
      if (JSON.stringify(made) !== JSON.stringify(calls)) {
        throw new Error(`Calls: ${JSON.stringify(made)}, and not ${JSON.stringify(calls)}.`)
      }
      const before = version
      version = await versionNow()
      roots = []
      modelCalls = 0
      return { sessions: sessions.length, calls: made, commits: version - before }
    },
    [Symbol.asyncDispose]: () => stemma.close(),
  }
}

async function toolCalls({ store }: Stemma, sessions: readonly string[]): Promise<Omit<Calls, "model">> {
  const made = { task: 0, read: 0 }
  for (const sessionID of sessions) {
    const { items } = await store.history(sessionID, { limit: 1000 })
    for (const part of items.flatMap(({ parts }) => parts)) {
      if (part.type !== "tool") continue
      const { tool, state } = part
      if (state.status !== "completed") throw new Error(`A call failed: ${JSON.stringify(state)}`)
      if (tool !== "task" && tool !== "read") throw new Error(`Nobody asked for ${tool}.`)
      made[tool]++
    }
  }
  return made
}
