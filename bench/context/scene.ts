import { mkdir } from "node:fs/promises"
import { createScriptedModel, openStemma, type Stemma } from "../../src/index.ts"
import type { ScriptedModel } from "../../src/models/scripted.ts"
import type { Window } from "../../src/run/context/context-window.ts"
import { HistoryMemo } from "../../src/run/context/history-memo.ts"
import type { Store } from "../../src/stores/store.ts"
import { scratchDirectory } from "../bench.ts"
import { type Ids, makeIds } from "../store/content.ts"
import { openStore } from "../store/open-store.ts"
import { makeTexts, type Texts } from "./texts.ts"

const limit = { context: 200_000, output: 32_000 }
const usable = limit.context - limit.output

export const window: Window = { context: limit.context, usable, limit: usable }

export interface Scene extends AsyncDisposable {
  store: Store
  ids: Ids
  texts: Texts
  /** The empty directory of the sessions. */
  directory: string
  data: string
}

export async function makeScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const scratch = stack.use(await scratchDirectory())
  const directory = scratch.path("project")
  await mkdir(directory)
  const store = stack.use(await openStore(scratch.path("store.db")))
  const kept = stack.move()
  return {
    store,
    ids: makeIds(5),
    texts: makeTexts(5),
    directory,
    data: scratch.path("data"),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** The work before a step of a process that has not read the session yet. */
export async function openMemo(store: Store, sessionID: string): Promise<HistoryMemo> {
  const memo = new HistoryMemo()
  await memo.refresh(store, await store.session(sessionID))
  return memo
}

/** A Stemma whose model answers briefly, and whose summaries keep nothing. */
export async function openScripted(scene: Scene): Promise<{ stemma: Stemma; model: ScriptedModel }> {
  const { store, directory, data } = scene
  const ref = { providerID: "bench", modelID: "bench-large-1" }
  const model = createScriptedModel([], {
    ref,
    limit,
    whenEmpty: { text: "Done, and nothing is left to do." },
  })
  const stemma = await openStemma({
    store,
    directory,
    data,
    env: { PATH: process.env.PATH, HOME: data },
    models: { bench: () => model },
    snapshots: false,
    config: { model: "bench/bench-large-1", title: false },
    onWarning: (error) => {
      throw error
    },
  })
  return { stemma, model }
}

/** More calls than one compaction makes. */
const callsMax = 20

/** Adds summaries for the next compaction that contain nothing of the history. */
export function addSummaries(model: ScriptedModel): void {
  model.add(...Array.from({ length: callsMax }, () => ({ for: "compaction" as const, text: "Nothing." })))
}
