import type { z } from "zod"
import type { Action, Attachment, HistoryItem, JsonObject, Todo } from "../protocol/index.ts"
import type { Workspace } from "../workspace/workspace.ts"

/** A tool that a model may call. */
export interface Tool<Input = unknown> {
  readonly name: string
  /** The description for the model; a function if it depends on the session. */
  readonly description: string | ((context: DescribeContext) => string | Promise<string>)
  readonly input: z.ZodType<Input>
  /** Whether recovery may run an interrupted call again. Use `never` for a tool that has an effect. */
  readonly replay: "safe" | "never"
  /** True if another session does the work. That session has its own protection against repeated interruption. */
  readonly delegates?: boolean
  /** True if the tool, or this call, may change files: a snapshot is taken before it. */
  readonly writes: boolean | InputCheck<Input>["ofInput"]
  /**
   * The permissions to request before the call runs, derived from the input and the state of the files. Must not change
   * anything. Throws an Error with a sentence for the model if the call can never work.
   */
  wants(input: Input, context: WantsContext): Promise<Wanted[]>
  /**
   * Runs the call. Everything that `wants` returned is permitted by now. An Error thrown here becomes the call's
   * result, and its message is shown to the model. Must end soon after `signal` is aborted: after 250 ms the run stops
   * waiting for it.
   */
  execute(input: Input, context: ToolContext): Promise<ToolResult>
}

/** Declared as a method, so that a tool of any input type is assignable to Tool. */
interface InputCheck<Input> {
  ofInput(input: Input): Promise<boolean>
}

/** A permission request. All its patterns must be permitted. */
export interface Wanted {
  permission: string
  patterns: string[]
  /** The patterns that the answer `always` would allow from then on; absent if that makes no sense. */
  always?: string[]
  /** Shown to the person who is asked: a diff, a command, a path. */
  metadata?: JsonObject
  /**
   * The mildest possible answer, whatever the rules say: `ask` for a request that must always be asked. An `always`
   * answer does not override it.
   */
  floor?: Action
}

export interface DescribeContext {
  agent: string
  /** The decision of the current rules, without asking a person. */
  decide(wanted: Wanted): Action
}

export interface WantsContext extends DescribeContext {
  sessionID: string
  workspace: Workspace
  signal: AbortSignal
  /** The files that this session has read, by real absolute path. */
  reads: ReadLedger
}

export interface ToolContext extends WantsContext {
  messageID: string
  callID: string
  /** Shows progress at once. `metadata` is merged; the last metadata is kept if the result has none. */
  progress(update: { title?: string; metadata?: JsonObject }): void
  /** Appends to the output that people see while the call runs. The result's `output` replaces it. */
  print(text: string): void
  /**
   * Requests a permission that becomes known only during the call, such as for a redirect. Throws if it is not
   * permitted.
   */
  ask(wanted: Wanted): Promise<void>
  /** Environment variables for processes: without keys, tokens and variables that the config read. */
  environment: Record<string, string>
  todos: { read(): Promise<Todo[]>; write(todos: Todo[]): Promise<void> }
  blobs: {
    /** Stores bytes and returns their SHA-256 in hex. */
    put(bytes: Uint8Array): Promise<string>
    /** The whole bytes that `put` stored. */
    get(hash: string): Promise<Uint8Array>
  }
  history: SessionHistory
  /**
   * Gives a task to another agent, in a child session, and waits for its answer. The call's part names that session
   * before the work begins. Called again for the same call after a crash, it continues the same session.
   */
  delegate(task: Task): Promise<TaskDone>
}

/** An agent that can be given tasks. */
export interface TaskAgent {
  name: string
  description?: string
  /** The names of the agent's tools. */
  tools: readonly string[]
  /** Whether the agent may change files. */
  writes: boolean
}

export interface Task {
  agent: string
  /** A few words. */
  description: string
  prompt: string
  /** A child of this session to continue. Any other session id is ignored. */
  sessionID?: string
  /** The command that started the task. */
  command?: string
}

export interface TaskDone {
  sessionID: string
  /** The agent's last text. */
  text: string
  /** The tool calls that the agent made for this task. */
  summary: TaskCall[]
}

export interface TaskCall {
  id: string
  tool: string
  state: { status: string; title?: string }
}

export interface ToolResult {
  /** A few words for people. */
  title: string
  /** The output for the model. The run cuts it at 2,000 lines or 50 KiB and stores the whole as a blob. */
  output: string
  metadata?: JsonObject
  attachments?: Attachment[]
}

/**
 * The history of the session and its descendants, including messages that are hidden from the model. Only sealed
 * messages, without text that is for people only and without messages that a revert hides or left behind. `sessionID`
 * defaults to the session itself; any session that is not a descendant fails, whether it exists or not.
 */
export interface SessionHistory {
  /** Messages of a range in order of position: its first ones if `from` is given, else its last. */
  page(query: HistoryRange): Promise<RecalledPage>
  /**
   * Messages that have all the words, the newest first; if there are none, messages that have some of them. Without
   * `sessionID` and a range, the session's own matches come first, and then those of its descendants. Summaries and
   * earlier recalls are left out, because they only repeat, and so is the current turn.
   */
  search(query: HistoryRange & { text: string }): Promise<Recalled>
  /** The session's children, the last used first, at most `limit`. */
  children(limit: number): Promise<BelowSession[]>
}

export interface HistoryRange {
  sessionID?: string
  /** Only positions at or after this one. */
  from?: number
  /** Only positions before this one. */
  to?: number
  limit: number
}

export interface RecalledPage {
  items: readonly HistoryItem[]
  /** The history has the positions below this one. */
  end: number
  /** The first position that the model is shown; absent for a descendant. */
  shownFrom?: number
}

export interface Recalled {
  /** False if no message has all the words. */
  hasAll: boolean
  found: RecalledFrom[]
  /** At least this many descendants were not searched, because there are too many. */
  unsearched: number
}

export interface RecalledFrom {
  /** Absent for the session itself. */
  below?: BelowSession
  /** One entry for each message, with the ids of the parts that have the words. */
  hits: { item: HistoryItem; partIDs: string[] }[]
  /** At most this many further messages match. */
  more: number
  /** True if `more` may be too low, because the words are too common. */
  isCommon: boolean
}

export interface BelowSession {
  id: string
  title: string
}

/** The files that a session has read, with their state at that time. Editing a file that changed since is refused. */
export interface ReadLedger {
  /** Remembers that the file was read or written in this state. */
  note(path: string, state: FileState): void
  /** The remembered state. */
  known(path: string): FileState | undefined
}

export interface FileState {
  mtimeMs: number
  size: number
}
