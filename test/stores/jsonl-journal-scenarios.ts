import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { openJsonlStore } from "../../src/stores/jsonl/index.ts"
import type { Store } from "../../src/stores/store.ts"
import { createOp, nowMs, sayOp, sessionID, textPart, user } from "./jsonl-scene.ts"

/** A change that touches several files. The tests interrupt it at every call. */
export interface Scenario {
  name: string
  claim(store: Store): Promise<number>
  change(store: Store, fence: number): Promise<unknown>
  /** A change that must work after an interruption. */
  again(store: Store): Promise<unknown>
}

const other = "ses_other"
const forkID = "ses_fork"
const time = { created: nowMs, updated: nowMs }

async function claim(store: Store): Promise<number> {
  return (await store.claim(sessionID)).fence
}

async function patch(store: Store): Promise<void> {
  await store.commit({ ops: [{ op: "session.patch", sessionID: other, set: { title: "Afterwards" } }] })
}

export const scenarios: Scenario[] = [
  {
    name: "a commit changes several sessions",
    claim,
    again: patch,
    change: (store, fence) =>
      store.commit({
        ops: [
          sayOp("third"),
          {
            op: "session.fork",
            sourceID: sessionID,
            session: { id: forkID, title: "Fork", version: "0", time },
            segment: "seg_fork",
          },
          { op: "todos.put", sessionID: other, todos: [] },
          createOp("ses_new", { agent: "another" }),
          { op: "history.move", sessionID, segment: "seg_moved", messageID: "msg_second" },
        ],
        fences: { [sessionID]: fence },
      }),
  },
  {
    name: "a long fork is made",
    claim,
    again: patch,
    change: (store) =>
      store.commit({
        ops: [
          {
            op: "session.fork",
            sourceID: other,
            session: { id: forkID, title: "Fork", version: "0", time },
            segment: "seg_fork",
          },
        ],
      }),
  },
  {
    name: "a session is removed",
    claim,
    again: patch,
    change: (store) => store.remove(sessionID),
  },
  {
    name: "a message is redacted",
    claim,
    again: patch,
    change: (store) => store.redact({ sessionID, messageID: "msg_first" }),
  },
  {
    name: "an import is given up",
    claim,
    again: patch,
    change: (store) => store.collect({ importAgeMs: 0, blobAgeMs: 0 }),
  },
]

/** Fills the directory with the store before the change, and returns the views before and after the change. */
export async function prepare(
  directory: string,
  scenario: Scenario,
): Promise<{ before: unknown; after: unknown }> {
  const store = await openJsonlStore({ directory })
  await fill(store)
  const before = await view(store)
  await store.close()
  const copy = mkdtempSync(`${directory}-copy-`)
  cpSync(directory, copy, { recursive: true, preserveTimestamps: true })
  const changed = await openJsonlStore({ directory: copy })
  await scenario.change(changed, await scenario.claim(changed))
  const after = await view(changed)
  await changed.close()
  rmSync(copy, { recursive: true, force: true })
  return { before, after }
}

async function fill(store: Store): Promise<void> {
  await store.commit({ ops: [createOp(), sayOp("first"), sayOp("second")] })
  const long = "words ".repeat(5000)
  const says = ["a", "b", "c", "d"].map((name) => ({
    op: "message.append" as const,
    sessionID: other,
    message: user(name),
    parts: [textPart(name, long)],
    sealed: true,
  }))
  await store.commit({ ops: [createOp(other), ...says] })
  await store.commit({
    ops: [
      { ...createOp("ses_import"), importing: true } as ReturnType<typeof createOp>,
      sayOp("i", "i", "ses_import"),
    ],
  })
}

/** Everything that a reader of the store sees. */
export async function view(store: Store): Promise<unknown> {
  const { items } = await store.sessions({ order: "created" })
  const sessions = []
  for (const session of items) {
    const { items: history } = await store.history(session.id, { limit: 1000 })
    const left = []
    for (const { segment } of session.history.left)
      left.push((await store.history(session.id, { left: segment })).items)
    sessions.push({ session, history, left, todos: await store.todos(session.id) })
  }
  const dry = await store.collect({ dryRun: true, importAgeMs: 0 })
  return { sessions, imports: dry.sessions, version: (await store.cursor()).replace(/^.*\./, "") }
}
