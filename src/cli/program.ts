import type { Stemma } from "../run/index.ts"
import type { Store } from "../stores/store.ts"
import type { Terminal } from "./terminal/terminal.ts"

/** How Stemma is opened here. */
export interface OpenOptions {
  directory?: string
  data?: string
  env?: Record<string, string | undefined>
  recover?: boolean
  store?: Store
  onWarning?: (error: unknown) => void
}

/** What a command is given: where it reads and writes, and the parts that only the composition knows. */
export interface Program {
  terminal: Terminal
  /** The directory that commands are about unless they are told another one. */
  directory: string
  openStemma(options: OpenOptions): Promise<Stemma>
  openStore(options: { path: string; readOnly?: boolean }): Promise<Store>
}

/** A command: gives its exit code. */
export type Command = (args: readonly string[], program: Program) => Promise<number>
