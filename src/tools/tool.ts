import type { z } from "zod"
import type { Action, Attachment, HistoryItem, JsonObject, Todo } from "../protocol/index.ts"
import type { Workspace } from "../workspace/workspace.ts"

/** What a model may call. */
export interface Tool<Input = unknown> {
  readonly name: string
  /** What the model is told about it; a function where that depends on the session. */
  readonly description: string | ((context: DescribeContext) => string | Promise<string>)
  readonly input: z.ZodType<Input>
  /** Whether recovery may run a call again that was cut off. `never` for whatever has an effect. */
  readonly replay: "safe" | "never"
  /** True if the work is done by another session, which guards itself against being cut off again and again. */
  readonly delegates?: boolean
  /** True if it may change files, or this call may: a snapshot is taken before it. */
  readonly writes: boolean | Judgement<Input>["ofInput"]
  /**
   * What to ask permission for before the call runs, judged from the input alone and the state of the files; changes
   * nothing. Throws an Error with a sentence for the model if the call can never work.
   */
  wants(input: Input, context: WantsContext): Promise<Wanted[]>
  /**
   * Runs the call; everything that `wants` named is permitted by now. An Error thrown here becomes the call's result:
   * its message is shown to the model. Must end soon after `signal` is aborted: 250 ms later it is given up.
   */
  execute(input: Input, context: ToolContext): Promise<ToolResult>
}

/** Declared as a method, so that a tool of any input is a Tool. */
interface Judgement<Input> {
  ofInput(input: Input): Promise<boolean>
}

/** A wish to do something. All its patterns must be permitted. */
export interface Wanted {
  permission: string
  patterns: string[]
  /** What `always` would allow from now on; none if it makes no sense. */
  always?: string[]
  /** Shown to the person who is asked: a diff, a command, a path. */
  metadata?: JsonObject
  /** The mildest answer possible, whatever rules say: `ask` for what always asks. `always` answers do not lift it. */
  floor?: Action
}

export interface DescribeContext {
  agent: string
  /** What the rules say now, without asking anybody. */
  decide(wanted: Wanted): Action
}

export interface WantsContext extends DescribeContext {
  sessionID: string
  workspace: Workspace
  signal: AbortSignal
  /** True if this session has read the file as it is on disk now. Paths are real absolute ones. */
  reads: ReadLedger
}

export interface ToolContext extends WantsContext {
  messageID: string
  callID: string
  /** Shows progress at once; `metadata` is merged, the last one is kept if the result has none. */
  progress(update: { title?: string; metadata?: JsonObject }): void
  /** Appends to the output that people see while the call runs. The result's `output` replaces it. */
  print(text: string): void
  /** For what is learnt only on the way, such as a redirect. Throws if it is not permitted. */
  ask(wanted: Wanted): Promise<void>
  /** The environment for processes: without keys, tokens and whatever the config took from it. */
  environment: Record<string, string>
  todos: { read(): Promise<Todo[]>; write(todos: Todo[]): Promise<void> }
  blobs: {
    /** Keeps bytes and gives their SHA-256 in hex. */
    put(bytes: Uint8Array): Promise<string>
    /** The whole of what `put` kept. */
    get(hash: string): Promise<Uint8Array>
  }
  history: SessionHistory
  /**
   * Gives a task to another agent, in a session below this one, and waits for its answer. The call's part names that session
   * before it begins. Called again for the same call, after a crash, it goes on with the same session.
   */
  delegate(task: Task): Promise<TaskDone>
}

/** An agent that tasks can be given to. */
export interface TaskAgent {
  name: string
  description?: string
  /** The names of the tools that it has. */
  tools: readonly string[]
  /** Whether it may change files. */
  writes: boolean
}

export interface Task {
  agent: string
  /** A few words. */
  description: string
  prompt: string
  /** A session below this one to go on with. Any other is as good as none. */
  sessionID?: string
  /** The command that led to it. */
  command?: string
}

export interface TaskDone {
  sessionID: string
  /** The last text that the agent wrote. */
  text: string
  /** The calls that it made for this task. */
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
  /** For the model. The run cuts it at 2,000 lines or 50 KiB and keeps the whole as a blob. */
  output: string
  metadata?: JsonObject
  attachments?: Attachment[]
}

/**
 * The history of the session and of the sessions below it, also what the model is shown no more: sealed messages only,
 * without text that is for people alone and without whatever a revert hides or left behind. `sessionID` is the session
 * itself if absent; any other that is not below it fails, whether there is one or not.
 */
export interface SessionHistory {
  /** Messages of a range in order of position: its first ones if `from` is given, else its last. */
  page(query: HistoryRange): Promise<RecalledPage>
  /**
   * What has all the words, the newest first; if nothing has, what has some of them. Without `sessionID` and a range the
   * session comes first and then those below it that have any. Summaries and earlier recalls are left out, since they only
   * repeat, and so is what is said in the present turn.
   */
  search(query: HistoryRange & { text: string }): Promise<Recalled>
  /** The sessions right below it, the last used first, at most `limit`. */
  children(limit: number): Promise<BelowSession[]>
}

export interface HistoryRange {
  sessionID?: string
  /** Only positions at or after it. */
  from?: number
  /** Only positions before it. */
  to?: number
  limit: number
}

export interface RecalledPage {
  items: readonly HistoryItem[]
  /** Positions below it are what there is. */
  end: number
  /** The first position that the model is shown as it is; absent for a session below. */
  shownFrom?: number
}

export interface Recalled {
  /** False if nothing has all the words. */
  hasAll: boolean
  found: RecalledFrom[]
  /** At least so many sessions below were too many to be searched. */
  unsearched: number
}

export interface RecalledFrom {
  /** Absent for the session itself. */
  below?: BelowSession
  /** A message each, with those of its parts that have the words. */
  hits: { item: HistoryItem; partIDs: string[] }[]
  /** At most so many messages more. */
  more: number
  /** There may be more than that: the words are too common. */
  isCommon: boolean
}

export interface BelowSession {
  id: string
  title: string
}

/** Which files a session has read, as they were then; edits of others are refused. */
export interface ReadLedger {
  /** Remembers that the file was read, or written, with this modification time and size. */
  note(path: string, state: FileState): void
  /** What was remembered. */
  known(path: string): FileState | undefined
}

export interface FileState {
  mtimeMs: number
  size: number
}
