import type { BlobStore, Store } from "../../stores/store.ts"

/** The reading half of a store. Servers and other edges read through it, and change sessions through the engine only. */
export interface StoreReader
  extends Pick<
    Store,
    | "session"
    | "sessions"
    | "tree"
    | "history"
    | "todos"
    | "inbox"
    | "permissions"
    | "changes"
    | "cursor"
    | "search"
  > {
  readonly blobs: Pick<BlobStore, "get" | "size">
}
