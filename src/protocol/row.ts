import type { InboxItem } from "./inbox.ts"
import type { Message } from "./message/message.ts"
import type { GrowingField, Part } from "./message/part.ts"
import type { Todo } from "./message/todo.ts"
import type { PermissionRequest } from "./permission.ts"
import type { Session } from "./session.ts"

/**
 * The newest version of one thing that changed, as `changes` returns it. `version` is the store-wide number of the
 * commit that changed it. A replica ignores a row that it already has, and a row older than the one it has.
 */
export type Row =
  /** Sent when a field that people see changed. `seq` in it may be older than the store's `seq`. */
  | { type: "session"; version: number; sessionID: string; session: Session }
  /** The session was removed. */
  | { type: "removed"; version: number; sessionID: string; parentID?: string; directory: string }
  /**
   * The history pointer moved; each move has its own row. Keep the first `keep` messages, drop the rest, and page in
   * the missing ones.
   */
  | { type: "history"; version: number; sessionID: string; epoch: number; keep: number }
  /** `parts` is how many parts the message has now. Drop the parts at a higher index. */
  | {
      type: "message"
      version: number
      sessionID: string
      position: number
      sealed: boolean
      parts: number
      message: Message
    }
  | { type: "part"; version: number; sessionID: string; position: number; index: number; part: Part }
  | {
      type: "piece"
      version: number
      sessionID: string
      position: number
      index: number
      messageID: string
      partID: string
      field: GrowingField
      offset: number
      text: string
    }
  | {
      type: "note"
      version: number
      sessionID: string
      position: number
      messageID: string
      key: string
      value: unknown
    }
  | { type: "todos"; version: number; sessionID: string; todos: Todo[] }
  | { type: "permission"; version: number; sessionID: string; request: PermissionRequest }
  /** The whole inbox as it is now. */
  | { type: "inbox"; version: number; sessionID: string; items: InboxItem[] }

/** One message of a history, as a history page returns it. */
export interface HistoryItem {
  position: number
  /** The newest version among the message and its parts. */
  version: number
  sealed: boolean
  message: Message
  parts: Part[]
  /** Notes that were added after the message was sealed, by key. */
  notes?: Record<string, unknown>
}
