import type { Part } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"
import type { Hub } from "../../stream/hub.ts"
import type { TaskCall } from "../../tools/tool.ts"
import { findMessage } from "../schedule/waiters.ts"

/** While an agent works, only the newest calls are shown, up to this many. The result lists all of them. */
const shownWhileRunning = 50

/** Reports the tool calls of a session whenever they change. */
export function followCalls(
  hub: Hub,
  { sessionID, onChange }: { sessionID: string; onChange: (calls: TaskCall[]) => void },
): { stop(): void } {
  const calls = new Map<string, TaskCall>()
  const subscription = hub.subscribe({ scope: { sessionID } })
  const follow = async () => {
    for await (const frames of subscription.batches()) {
      let isChanged = false
      for (const frame of frames) {
        if (!("event" in frame) || frame.event.type !== "message.part.updated") continue
        const call = callOf(frame.event.properties.part)
        if (!call) continue
        calls.set(call.id, call)
        isChanged = true
        if (calls.size > shownWhileRunning) calls.delete(calls.keys().next().value!)
      }
      if (isChanged) onChange([...calls.values()])
    }
  }
  // Live progress is best effort. The result has the complete list.
  follow().catch(() => {})
  return { stop: () => subscription.close() }
}

/** The tool calls that a session made since a prompt, in order. */
export async function callsOf(
  store: Store,
  { sessionID, promptID }: { sessionID: string; promptID: string },
): Promise<TaskCall[]> {
  const calls: TaskCall[] = []
  const prompt = await findMessage(store, sessionID, promptID)
  for (let from = (prompt?.position ?? 0) + 1; ; ) {
    const { items, more } = await store.history(sessionID, { from, take: "start", limit: 200 })
    for (const { parts } of items) calls.push(...parts.flatMap((part) => callOf(part) ?? []))
    const last = items.at(-1)
    if (!more || !last) return calls
    from = last.position + 1
  }
}

function callOf(part: Part): TaskCall | undefined {
  if (part.type !== "tool") return undefined
  const { id, tool, state } = part
  const title = state.status === "completed" ? { title: state.title } : {}
  return { id, tool, state: { status: state.status, ...title } }
}
