import type { InboxItem, Store } from "../../../src/index.ts"
import { storeWith } from "../run/store-with.ts"

type Commit = Parameters<Store["commit"]>[0]
type Op = Commit["ops"][number]

/**
 * The writes around which a process that runs tasks can die, in the order in which they happen: the parent's model is
 * asked, a child is made and named, the child's prompt is admitted, the child takes its prompt, the child has answered,
 * the result is written, and the message with the results is sealed.
 */
export const writes = ["asked", "made", "prompted", "taken", "answered", "result", "sealed"] as const
export type Write = (typeof writes)[number]

/** The process dies right before or after the given write, counted from 0, or a little later. */
export interface Moment {
  write: Write
  count: number
  when: "before" | "after" | { laterMs: number }
}

export interface MortalOptions {
  /** The session that gives the tasks. */
  rootID: string
  dieAt?: Moment
  onCommit: () => void
}

/** A store that kills its process at a moment. */
export function mortalStore(store: Store, { rootID, dieAt, onCommit }: MortalOptions): Store {
  let seen = 0
  const around = async <T>(is: boolean, write: () => Promise<T>): Promise<T> => {
    if (!is || seen++ !== dieAt?.count) return write()
    if (dieAt.when === "before") die()
    const written = await write()
    if (typeof dieAt.when === "object") setTimeout(die, dieAt.when.laterMs)
    else die()
    return written
  }
  return storeWith(store, {
    async commit(commit) {
      const is = dieAt !== undefined && commit.ops.some((op) => writeOf(op, rootID) === dieAt.write)
      const committed = await around(is, () => store.commit(commit))
      onCommit()
      return committed
    },
    admit: (item: InboxItem) =>
      around(dieAt?.write === "prompted" && item.type === "prompt" && item.sessionID !== rootID, () =>
        store.admit(item),
      ),
  })
}

function die(): void {
  process.kill(process.pid, "SIGKILL")
}

function writeOf(op: Op, rootID: string): Write | undefined {
  switch (op.op) {
    case "session.create":
      return op.session.parentID === undefined ? undefined : "made"
    case "message.append":
      return op.sessionID === rootID && op.message.role === "assistant" ? "asked" : undefined
    case "inbox.take":
      return op.sessionID === rootID ? undefined : "taken"
    case "message.seal":
      if (op.sessionID === rootID) return "sealed"
      return op.message?.role === "assistant" && op.message.finish === "stop" ? "answered" : undefined
    case "part.put":
      return op.part.type === "tool" && op.part.tool === "task" && op.part.state.status === "completed"
        ? "result"
        : undefined
    default:
      return undefined
  }
}
