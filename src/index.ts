import { StemmaError } from "./protocol/index.ts"
import type { JsonlStoreOptions } from "./stores/jsonl/index.ts"
import type { MemoryStoreOptions } from "./stores/memory.ts"
import type { SqliteStoreOptions } from "./stores/sqlite/index.ts"
import type { Store } from "./stores/store.ts"

export * from "./protocol/index.ts"
export * from "./session/index.ts"
export { Commit, Op, type OpOf } from "./stores/commit.ts"
export type * from "./stores/store.ts"

export type OpenStoreOptions =
  | ({ driver?: "sqlite" } & SqliteStoreOptions)
  | ({ driver: "jsonl" } & JsonlStoreOptions)
  | ({ driver: "memory" } & MemoryStoreOptions)

/** Opens a store, SQLite unless another driver is named. Only the driver that is asked for is loaded. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  switch (options?.driver) {
    case undefined:
    case "sqlite":
      return (await import("./stores/sqlite/index.ts")).openSqliteStore(options)
    case "jsonl":
      return (await import("./stores/jsonl/index.ts")).openJsonlStore(options)
    case "memory":
      return (await import("./stores/memory.ts")).createMemoryStore(options)
    default: {
      const { driver } = options satisfies never as { driver: unknown }
      throw new StemmaError("invalid", `There is no driver ${driver}. Name sqlite, jsonl or memory.`)
    }
  }
}
