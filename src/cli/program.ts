import type { Stemma } from "../run/index.ts"
import type { Store } from "../stores/store.ts"
import type { Terminal } from "./terminal/terminal.ts"

/** The options that the commands pass to `openStemma`. */
export interface OpenOptions {
  directory?: string
  data?: string
  env?: Record<string, string | undefined>
  timing?: { titleGraceMs?: number }
  store?: Store
  onWarning?: (error: unknown) => void
}

export interface MainOptions {
  keepCompiledCode?: Program["keepCompiledCode"]
  endStart?: Program["endStart"]
}

/** Selects the command by the first argument, and returns the exit code. */
export type Main = (args: readonly string[], options?: MainOptions) => Promise<number>

/** What a command receives: its input and output, and the functions that open Stemma and the store. */
export interface Program {
  terminal: Terminal
  /** The default directory of commands. */
  directory: string
  openStemma(options: OpenOptions): Promise<Stemma>
  openStore(options: { path: string; readOnly?: boolean }): Promise<Store>
  /** Writes the compiled code of the program to disk, for the next process. A process that ends in order does so anyway. */
  keepCompiledCode(): Promise<void>
  /** Called when everything is loaded and the work begins. A server gets V8's settings for a process that runs for days. */
  endStart(options: { isServer: boolean }): void
}

/** A command. Returns its exit code. */
export type Command = (args: readonly string[], program: Program) => Promise<number>

/** How the user calls the program: in a checkout or a project, `stemma` is not in the PATH. */
export function programName(env: Terminal["env"]): string {
  if (/^(start|stemma)$/.test(env.npm_lifecycle_event ?? "")) return "npm run -s stemma --"
  return env.npm_command === "exec" ? "npx stemma" : "stemma"
}

const ownCommand =
  /(?<![\w./-])stemma (?=(?:serve|run|session|trust|untrust|--help|--version|<command>)(?![\w-]))/g

/** A text of Stemma, with the commands in it as the user has to type them. */
export function asCalled(text: string, env: Terminal["env"]): string {
  const name = programName(env)
  return name === "stemma" ? text : text.replace(ownCommand, `${name} `)
}
