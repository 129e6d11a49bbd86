import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdir, realpath, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import type { Action, JsonObject, RulesInput, Todo } from "../../src/protocol/index.ts"
import { evaluate, toRuleset } from "../../src/session/permission/permit.ts"
import type {
  FileState,
  SessionHistory,
  Tool,
  ToolContext,
  ToolResult,
  Wanted,
} from "../../src/tools/tool.ts"
import { openWorkspace } from "../../src/workspace/path/paths.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

export interface ToolContextOptions {
  /** The permission rules; everything is allowed without them. The last matching rule wins. */
  rules?: RulesInput
  /** Files of the workspace by name; their directories are created. */
  files?: Record<string, string | Uint8Array>
  /** Makes the workspace a git work tree. */
  git?: boolean
  /** The session's directory inside the workspace, such as `packages/web`. */
  directory?: string
  environment?: Record<string, string>
  /** Files that are never shown to a model, by their names in the workspace. */
  forbidden?: string[]
  /** The person's answer to a question; `once` by default. */
  answer?: (wanted: Wanted) => "once" | "reject"
  /** The session's history; empty by default. */
  history?: SessionHistory
}

export interface TestToolContext extends ToolContext, AsyncDisposable {
  /** The real path of the temporary directory, which contains only the workspace. */
  home: string
  /** The real path of the workspace. */
  root: string
  /** Everything that `ask` was called with, permitted or not. */
  asked: Wanted[]
  /** The requests that led to a question to the person. */
  questions: Wanted[]
  printed: string[]
  updates: { title?: string; metadata?: JsonObject }[]
  todoList: Todo[]
  abort(reason?: unknown): void
  /** Calls a tool as a run does: checks the input, requests its permissions, then runs it. */
  call<Input>(tool: Tool<Input>, input: unknown): Promise<ToolResult>
}

/** A context for tool calls: a real directory with real files, permission rules, and a record of the calls. */
export async function toolContext(options: ToolContextOptions = {}): Promise<TestToolContext> {
  const temporary = await temporaryDirectory()
  const home = await realpath(temporary.path)
  const root = join(home, "project")
  const directory = join(root, options.directory ?? "")
  await mkdir(directory, { recursive: true })
  if (options.git) await promisify(execFile)("git", ["init", "--quiet", root])
  await putFiles(root, options.files ?? {})

  const ruleset = toRuleset(options.rules ?? { "*": "allow" })
  const decide = (wanted: Wanted): Action =>
    strictest([
      ...(wanted.patterns.length > 0 ? wanted.patterns : ["*"]).map(
        (pattern) => evaluate(wanted.permission, pattern, ruleset).action,
      ),
      wanted.floor ?? "allow",
    ])
  const controller = new AbortController()
  const known = new Map<string, FileState>()
  const kept = new Map<string, Uint8Array>()
  const context: TestToolContext = {
    home,
    root,
    asked: [],
    questions: [],
    printed: [],
    updates: [],
    todoList: [],
    abort: (reason) => controller.abort(reason),
    call: async (tool, input) => {
      const parsed = tool.input.parse(input)
      for (const wanted of await tool.wants(parsed, context)) await context.ask(wanted)
      return tool.execute(parsed, context)
    },
    agent: "build",
    sessionID: "ses_01jgxy0000000000000000test",
    messageID: "msg_01jgxy0000000000000000test",
    callID: "call_1",
    workspace: await openWorkspace({
      directory,
      own: [join(home, "data")],
      forbidden: (options.forbidden ?? []).map((name) => join(root, name)),
    }),
    signal: controller.signal,
    decide,
    reads: { note: (path, state) => void known.set(path, state), known: (path) => known.get(path) },
    progress: (update) => void context.updates.push(update),
    print: (text) => void context.printed.push(text),
    delegate: async () => {
      throw new Error("There are no other agents here.")
    },
    ask: async (wanted) => {
      context.asked.push(wanted)
      const action = decide(wanted)
      if (action === "ask") context.questions.push(wanted)
      const permitted = action === "allow" || (action === "ask" && options.answer?.(wanted) !== "reject")
      if (!permitted) throw new Error(`Not permitted: ${wanted.permission} ${wanted.patterns.join(", ")}.`)
    },
    environment: options.environment ?? { PATH: process.env.PATH ?? "", HOME: home },
    todos: {
      read: async () => context.todoList,
      write: async (todos) => {
        context.todoList = todos
      },
    },
    blobs: {
      put: async (bytes) => {
        const hash = createHash("sha256").update(bytes).digest("hex")
        kept.set(hash, Uint8Array.from(bytes))
        return hash
      },
      get: async (hash) => {
        const bytes = kept.get(hash)
        if (bytes === undefined) throw new Error(`There is no blob ${hash}.`)
        return bytes
      },
    },
    history: options.history ?? {
      page: async () => ({ items: [], end: 0 }),
      search: async () => ({ hasAll: true, found: [], unsearched: 0 }),
      children: async () => [],
    },
    [Symbol.asyncDispose]: () => temporary[Symbol.asyncDispose](),
  }
  return context
}

export async function putFiles(root: string, files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), content)
  }
}

function strictest(actions: Action[]): Action {
  return (["deny", "ask"] as const).find((action) => actions.includes(action)) ?? "allow"
}
