import type { HistoryItem, InboxItem, PermissionRequest, Row, Session, Todo } from "../../protocol/index.ts"
import { messageItem, type ReplicaMessage } from "./replica-message.ts"

export type RowOf<T extends Row["type"]> = Extract<Row, { type: T }>

/**
 * The state of a replica of one session. The functions of reduce.ts change it in place, in time that does not depend on
 * the length of the history. Items that `viewItem` and `viewMessages` return are never changed afterwards: the same
 * object means the same content, and while `revision` is unchanged, nothing has changed.
 */
export interface SessionView {
  /** Grows with every change. */
  revision: number
  session: Session | undefined
  todos: readonly Todo[]
  inbox: readonly InboxItem[]
  /** By id. `viewPermissions` returns them in order. */
  permissions: Map<string, PermissionRequest>
  removed: boolean
  /** The epoch of the history that the messages belong to. */
  epoch: number
  /** For reduce.ts only. */
  readonly internal: ViewInternal
}

export interface ViewInternal {
  sessionID: string | undefined
  /** Replica messages by position. The code calls one of them a slot. */
  slots: Map<number, ReplicaMessage>
  /** All positions are below this one. */
  end: number
  /** The newest epoch that was reported, and at least how many messages it has. */
  reported: { epoch: number; count: number }
  /** Positions of messages that may be incomplete. */
  unfinished: Set<number>
  /** The newest version of any row so far. */
  newestVersion: number
  /** Rows of messages with an older version are ignored: their messages were dropped or must be paged in. */
  versionFloor: number
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
      reported: { epoch: 0, count: 0 },
      unfinished: new Set(),
      newestVersion: 0,
      versionFloor: 0,
      versions: { session: 0, history: 0, todos: 0, inbox: 0, removed: 0 },
      permissionVersions: new Map(),
      messages: undefined,
    },
  }
}

/** How many messages the history has according to the view. Some of them may be missing. */
export function viewCount(view: SessionView): number {
  return Math.max(view.internal.reported.count, view.internal.end)
}

/** The message at a position; undefined if the view lacks it or its own row. */
export function viewItem(view: SessionView, position: number): HistoryItem | undefined {
  const slot = view.internal.slots.get(position)
  return slot && messageItem(slot)
}

/** The messages that the view has, in order of position. The same array is returned as long as nothing changes. */
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
 * The ranges [from, to) of positions that the view lacks, in order: messages that are unknown, incomplete, or have a
 * gap in a growing text. `last` limits the search to the last messages. Call it between batches of changes, not within
 * one, and page in the ranges.
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
