import { join } from "node:path"
import type { Clock } from "../../src/protocol/index.ts"
import type { Holder, Store } from "../../src/stores/store.ts"

export interface DriverOptions {
  clock?: Clock
  holder?: Holder
  durability?: "normal" | "full"
  readOnly?: boolean
}

export interface Driver {
  name: "memory" | "sqlite" | "jsonl"
  /** True if the driver stores its sessions in the directory. */
  durable: boolean
  /** Loads the driver's code; `open` does it too. */
  load(): Promise<unknown>
  /** Opens the store of a directory. */
  open(directory: string, options?: DriverOptions): Promise<Store>
}

/** Every driver that the suites run on; `memory` is the oracle. */
export const drivers: readonly Driver[] = [
  {
    name: "memory",
    durable: false,
    load: () => import("../../src/stores/memory.ts"),
    async open(_directory, { clock, holder } = {}) {
      const { createMemoryStore } = await import("../../src/stores/memory.ts")
      return createMemoryStore({ clock, holder })
    },
  },
  {
    name: "sqlite",
    durable: true,
    load: () => import("../../src/stores/sqlite/index.ts"),
    async open(directory, options = {}) {
      const { openSqliteStore } = await import("../../src/stores/sqlite/index.ts")
      return openSqliteStore({ path: sqliteFile(directory), ...options })
    },
  },
  {
    name: "jsonl",
    durable: true,
    load: () => import("../../src/stores/jsonl/index.ts"),
    async open(directory, options = {}) {
      const { openJsonlStore } = await import("../../src/stores/jsonl/index.ts")
      return openJsonlStore({ directory, ...options })
    },
  },
]

export const durableDrivers = drivers.filter((driver) => driver.durable)

export function driverNamed(name: string | undefined): Driver {
  const driver = drivers.find((candidate) => candidate.name === name)
  if (!driver) throw new Error(`There is no driver "${name}".`)
  return driver
}

export function sqliteFile(directory: string): string {
  return join(directory, "stemma.db")
}
