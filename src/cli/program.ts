import type { Stemma } from "../run/index.ts"
import type { Store } from "../stores/store.ts"
import type { Terminal } from "./terminal/terminal.ts"

/** The options that the commands pass to `openStemma`. */
export interface OpenOptions {
  directory?: string
  data?: string
  env?: Record<string, string | undefined>
  recover?: boolean
  store?: Store
  onWarning?: (error: unknown) => void
}

/** What a command receives: its input and output, and the functions that open Stemma and the store. */
export interface Program {
  terminal: Terminal
  /** The default directory of commands. */
  directory: string
  openStemma(options: OpenOptions): Promise<Stemma>
  openStore(options: { path: string; readOnly?: boolean }): Promise<Store>
}

/** A command. Returns its exit code. */
export type Command = (args: readonly string[], program: Program) => Promise<number>
