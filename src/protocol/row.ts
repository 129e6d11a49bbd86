import type { InboxItem } from "./inbox.ts"
import type { Message } from "./message/message.ts"
import type { GrowingField, Part } from "./message/part.ts"
import type { Todo } from "./message/todo.ts"
import type { PermissionRequest } from "./permission.ts"
import type { Session } from "./session.ts"

/**
 * The newest version of one thing that changed, as `changes` gives it. `version` is the store-wide number of
 * the commit that changed it. Putting a row into a replica twice, or an older one after a newer one, changes nothing.
 */
export type Row =
  /** Given when something that people see of the session changed; `seq` in it may be older than the store's. */
  | { type: "session"; version: number; sessionID: string; session: Session }
  /** The session was removed. */
  | { type: "removed"; version: number; sessionID: string; parentID?: string; directory: string }
  /** The history pointer moved (a row for each move): keep the first `keep` messages, drop the rest, page in what is missing. */
  | { type: "history"; version: number; sessionID: string; epoch: number; keep: number }
  /** `parts` is how many parts the message has now: drop those at a higher index. */
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

/** One message of a history, as a page gives it. */
export interface HistoryItem {
  position: number
  /** The newest version among the message and its parts. */
  version: number
  sealed: boolean
  message: Message
  parts: Part[]
  /** What was learnt after the message was sealed, by key. */
  notes?: Record<string, unknown>
}
