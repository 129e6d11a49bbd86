import type { HistoryItem, InboxItem, PermissionRequest, Row, Session, Todo } from "../../protocol/index.ts"
import { messageItem, type ReplicaMessage } from "./replica-message.ts"

export type RowOf<T extends Row["type"]> = Extract<Row, { type: T }>

/**
 * What a replica knows of one session. It is changed in place by the functions of reduce.ts, at a cost that does not
 * depend on the length of the history. What `viewItem` and `viewMessages` hand out is never changed afterwards: an item
 * that is the same object as before says the same as before, and while `revision` stands still nothing has changed.
 */
export interface SessionView {
  /** Grows with everything that changes. */
  revision: number
  session: Session | undefined
  todos: readonly Todo[]
  inbox: readonly InboxItem[]
  /** By id; `viewPermissions` gives them in order. */
  permissions: Map<string, PermissionRequest>
  removed: boolean
  /** Which epoch of the history the messages belong to. */
  epoch: number
  /** For reduce.ts only. */
  readonly internal: ViewInternal
}

export interface ViewInternal {
  sessionID: string | undefined
  slots: Map<number, ReplicaMessage>
  /** No slot is at or after it. */
  end: number
  /** How many messages the newest epoch that was heard of has, at least. */
  told: { epoch: number; count: number }
  /** Positions of slots that cannot be trusted to be whole. */
  unfinished: Set<number>
  /** The newest version of any row so far. */
  heard: number
  /** Older rows of messages are ignored: what they said was dropped, or must be paged in. */
  floor: number
  versions: { session: number; history: number; todos: number; inbox: number; removed: number }
  permissionVersions: Map<string, number>
  messages: { revision: number; items: HistoryItem[] } | undefined
}

export function emptyView(): SessionView {
  return {
    revision: 0,
    session: undefined,
    todos: [],
    inbox: [],
    permissions: new Map(),
    removed: false,
    epoch: 0,
    internal: {
      sessionID: undefined,
      slots: new Map(),
      end: 0,
      told: { epoch: 0, count: 0 },
      unfinished: new Set(),
      heard: 0,
      floor: 0,
      versions: { session: 0, history: 0, todos: 0, inbox: 0, removed: 0 },
      permissionVersions: new Map(),
      messages: undefined,
    },
  }
}

/** How many messages the history has, as far as the view knows; some of them may be missing. */
export function viewCount(view: SessionView): number {
  return Math.max(view.internal.told.count, view.internal.end)
}

/** The message at a position; undefined if it is not there or its own row is missing. */
export function viewItem(view: SessionView, position: number): HistoryItem | undefined {
  const slot = view.internal.slots.get(position)
  return slot && messageItem(slot)
}

/** The messages that the view has, in order of position. The same array as long as nothing changes. */
export function viewMessages(view: SessionView): readonly HistoryItem[] {
  const { internal } = view
  if (internal.messages?.revision === view.revision) return internal.messages.items
  const positions = [...internal.slots.keys()].sort((a, b) => a - b)
  const items = positions.flatMap((position) => viewItem(view, position) ?? [])
  internal.messages = { revision: view.revision, items }
  return items
}

/** Permission requests in the order in which they were asked. */
export function viewPermissions(view: SessionView, options?: { open?: boolean }): PermissionRequest[] {
  return [...view.permissions.values()]
    .filter((request) => !options?.open || request.reply === undefined)
    .sort((a, b) => a.time.created - b.time.created)
}

/**
 * The ranges [from, to) of positions that the view should have and lacks, in order: never heard of, known in part only,
 * or with a gap in a growing text. `last` looks only at the last so many messages. Ask for it between batches of
 * changes, not within one, and page in what it names.
 */
export function missing(view: SessionView, options?: { last?: number }): { from: number; to: number }[] {
  const { slots, unfinished } = view.internal
  const count = viewCount(view)
  if (view.removed || (unfinished.size === 0 && slots.size === count)) return []
  const ranges: { from: number; to: number }[] = []
  for (let position = Math.max(0, count - (options?.last ?? count)); position < count; position++) {
    if (slots.has(position) && !unfinished.has(position)) continue
    const range = ranges.at(-1)
    if (range?.to === position) range.to++
    else ranges.push({ from: position, to: position + 1 })
  }
  return ranges
}
