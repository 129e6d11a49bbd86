import { join } from "node:path"
import type { ConfigInput } from "./config/files/schema.ts"
import { configDirectory, dataDirectory } from "./config/paths.ts"
import type { Model } from "./models/model.ts"
import { ascendingIDs, type Clock, StemmaError, systemClock } from "./protocol/index.ts"
import { optionsOf } from "./run/api/arguments/call-options.ts"
import { isStore, openShape } from "./run/api/arguments/open.ts"
import { type AskHandler, type Engine, standardTiming, type Timing } from "./run/engine.ts"
import { HumanPresence } from "./run/permission/human-presence.ts"
import { Projects } from "./run/project.ts"
import { Background } from "./run/schedule/background.ts"
import { Coordinator } from "./run/schedule/coordinator.ts"
import { Slices } from "./run/schedule/slices.ts"
import { Stemma } from "./run/stemma.ts"
import { Metrics } from "./run/telemetry/metrics.ts"
import { Tracing } from "./run/telemetry/tracing.ts"
import type { JsonlStoreOptions } from "./stores/jsonl/index.ts"
import type { MemoryStoreOptions } from "./stores/memory.ts"
import type { SqliteStoreOptions } from "./stores/sqlite/index.ts"
import type { Store } from "./stores/store.ts"
import { createHub } from "./stream/hub.ts"
import type { Tool } from "./tools/tool.ts"

export type { Agent } from "./config/agents/agent.ts"
export type { Command } from "./config/agents/command.ts"
export type { ConfigInput } from "./config/files/schema.ts"
export type { FinishReason, Model, ModelEvent, ModelRequest, ModelTool } from "./models/model.ts"
export { ModelError, type ModelErrorKind } from "./models/model-error.ts"
export { createScriptedModel, type ScriptedAnswer } from "./models/scripted.ts"
export * from "./protocol/index.ts"
export type { AppendInput } from "./run/api/append-message.ts"
export type {
  CreateOptions,
  CurrentOptions,
  RetentionOptions,
  UpdateOptions,
} from "./run/api/arguments/call-options.ts"
export type { PromptRun, Reply } from "./run/api/prompt-run.ts"
export type { Expired } from "./run/api/retention.ts"
export type { SessionHandle } from "./run/api/session-handle.ts"
export type { Sessions } from "./run/api/sessions.ts"
export type { ShareOptions } from "./run/api/share.ts"
export type { ShellOptions } from "./run/api/shell-command.ts"
export type { StoreReader } from "./run/api/store-reader.ts"
export type { AskHandler, Timing } from "./run/engine.ts"
export type { PromptContent, PromptOptions, PromptPart } from "./run/prompt/prompt.ts"
export type { FileAccess } from "./run/prompt/prompt-files.ts"
export type { PromptState } from "./run/schedule/activity.ts"
export type { Stemma } from "./run/stemma.ts"
export type {
  HistogramSnapshot,
  MetricsSnapshot,
  RunOutcome,
  SessionOrigin,
} from "./run/telemetry/metrics.ts"
export * from "./session/index.ts"
export { Commit, Op, type OpOf } from "./stores/commit.ts"
export type * from "./stores/store.ts"
export type { Task, TaskCall, TaskDone, Tool, ToolContext, ToolResult, Wanted } from "./tools/tool.ts"

export type OpenStoreOptions =
  | ({ driver?: "sqlite" } & SqliteStoreOptions)
  | ({ driver: "jsonl" } & JsonlStoreOptions)
  | ({ driver: "memory" } & MemoryStoreOptions)

/** Opens a store: SQLite unless `driver` names another one. Only the chosen driver's module is loaded. */
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
      throw new StemmaError("invalid", `There is no driver ${driver}. Use sqlite, jsonl or memory.`)
    }
  }
}

export interface StemmaOptions {
  /** The directory that sessions work in by default; the working directory of the process if absent. */
  directory?: string
  /**
   * The store of the sessions: an open store, which the caller closes, or options to open one. If absent, SQLite in the
   * data directory.
   */
  store?: Store | OpenStoreOptions
  /** A config object with the keys of stemma.json. It is applied after the user's own config file. */
  config?: ConfigInput
  /** Additional models by provider id: `{ mine: (modelID) => model }`. */
  models?: Record<string, (modelID: string) => Model>
  /** Additional tools. A tool with the name of a built-in tool replaces it. */
  tools?: readonly Tool[]
  /**
   * True: runs that a dead process left behind are resumed on start, as `stemma.recover()` does later. False: such a
   * session is only repaired at its next use.
   */
  recover?: boolean
  /**
   * True: a person answers permission questions through `permissions.reply`. Without a person or `onPermission`,
   * questions are refused.
   */
  interactive?: boolean
  /** Called to answer permission questions instead of a person. */
  onPermission?: AskHandler
  /** The environment variables for keys and directories; `process.env` if absent. */
  env?: Record<string, string | undefined>
  /** The data directory; derived from the environment if absent. */
  data?: string
  /** False: no snapshots, so a revert does not restore files. */
  snapshots?: boolean
  fetch?: typeof fetch
  clock?: Clock
  timing?: Partial<Timing>
  /** Called with errors of background work that no caller waits for. If absent, they become process warnings. */
  onWarning?: (error: unknown) => void
}

const checkedOptions = optionsOf<StemmaOptions>("openStemma", openShape)

/** Opens Stemma. Close it, or use `await using`. */
export async function openStemma(given: StemmaOptions = {}): Promise<Stemma> {
  const options = checkedOptions(given)
  const env = options.env ?? process.env
  const data = options.data ?? dataDirectory(env)
  const clock = options.clock ?? systemClock
  const isOwn = !isStore(options.store)
  const store = isStore(options.store)
    ? options.store
    : await openStore(options.store ?? { path: join(data, "stemma.db") })
  const hub = createHub({ store, clock })
  const report = reporter(options.onWarning)
  const background = new Background(report)
  const engine: Engine = {
    store,
    hub,
    clock,
    newID: ascendingIDs(clock),
    projects: new Projects({
      dataDirectory: data,
      configDirectory: configDirectory(env),
      env,
      ...(options.config !== undefined && { inline: options.config }),
      ...(options.models && { models: options.models }),
      ...(options.tools && { tools: options.tools }),
      ...(options.fetch && { fetch: options.fetch }),
      ...(options.snapshots !== undefined && { snapshots: options.snapshots }),
    }),
    presence: new HumanPresence({
      ...(options.interactive !== undefined && { interactive: options.interactive }),
      ...(options.onPermission && { handler: options.onPermission }),
    }),
    timing: { ...standardTiming, ...options.timing },
    slices: new Slices(),
    metrics: new Metrics(),
    tracing: new Tracing({ env }),
    recover: false,
    background: (work) => background.add(work),
    warn: report,
  }
  const coordinator = new Coordinator(engine)
  const directory = options.directory ?? process.cwd()
  const closeRest = async () => {
    await background.close({ graceMs: engine.timing.titleGraceMs })
    await hub.close()
    if (isOwn) await store.close()
  }
  const stemma = new Stemma({
    engine,
    coordinator,
    directory,
    closeRest,
    stopRest: () => background.stop(),
  })
  if (options.recover) stemma.recover()
  return stemma
}

/** No caller waits for a warning, so an error that `listener` throws must not end the process. */
function reporter(listener: ((error: unknown) => void) | undefined): (error: unknown) => void {
  if (!listener) return warn
  return (error) => {
    try {
      listener(error)
    } catch (failed) {
      warn(failed)
    }
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : new Error(String(error)))
}
