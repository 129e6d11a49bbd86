import type { JsonObject } from "../../../src/protocol/index.ts"

export const kinds = ["file", "command", "constraint", "decision", "todo", "identifier"] as const
export type Kind = (typeof kinds)[number]

export const languages = ["en", "zh"] as const
export type Language = (typeof languages)[number]

export const halves = ["open", "held-out"] as const
export type Half = (typeof halves)[number]

/** A word that must be in the ledger; of a list, one of its words. */
export type Kept = string | readonly string[]

export type Outcome = "ok" | "failed" | "timeout"

interface Fact {
  /** All of these must be in the ledger, near one another. Slots are filled with the same values as in the text. */
  keep: readonly Kept[]
  /** The outcome of a command; the ledger may use its own words for it. */
  outcome?: Outcome
}

/** A fact as prose. Slots look like `{path}`, `{path2}`: see `../values.ts`. */
export interface Said extends Fact {
  by: "user" | "assistant"
  text: string
  /** The assistant's question just before. */
  asked?: string
  /** A correction by the same person some turns later, which makes the earlier value invalid. */
  later?: string
}

/** A tool call with its result, in the format of this project's tools or of another program. */
export interface Called extends Fact {
  by: "tool"
  tool: string
  input: JsonObject
  title: string
  metadata: JsonObject
  output?: string
  /** The error of a failed call, in place of an output. */
  error?: string
}

/** One open entry of the todo list. The generator writes the other entries. */
export interface Listed extends Fact {
  by: "list"
  tool: "todowrite" | "TodoWrite" | "todo_write" | "update_plan"
  content: string
  status: "pending" | "in_progress"
}

/** A patch part: files that a step changed. */
export interface Patched extends Fact {
  by: "patch"
  files: readonly string[]
}

export type Phrasing = Said | Called | Listed | Patched
export type Phrasings = Record<Language, readonly Phrasing[]>

type SaidMore = Pick<Said, "asked" | "later" | "outcome">

export function user(text: string, keep: readonly Kept[], more: SaidMore = {}): Said {
  return { by: "user", text, keep, ...more }
}

export function assistant(text: string, keep: readonly Kept[], more: SaidMore = {}): Said {
  return { by: "assistant", text, keep, ...more }
}

type CallResult = Partial<Pick<Called, "output" | "error" | "title" | "metadata" | "outcome" | "keep">>

/** A tool call in the format of another program. Unless `keep` is given, the path must be kept. */
export function call(tool: string, input: JsonObject, result: CallResult = {}): Called {
  const { keep = ["{path}"], title = "", metadata = {}, ...rest } = result
  return {
    by: "tool",
    tool,
    input,
    title,
    metadata,
    keep,
    ...(result.error === undefined && { output: "" }),
    ...rest,
  }
}

export function edit(oldString: string, newString: string): Called {
  return call(
    "edit",
    { filePath: "{path}", oldString, newString },
    {
      title: "{path}",
      output: "Edited {path} at line {n}.",
      metadata: { filepath: "{root}/{path}", exists: true, additions: 1, deletions: 1, diff: "" },
    },
  )
}

export function write(content: string, { exists = false } = {}): Called {
  return call(
    "write",
    { filePath: "{path}", content },
    {
      title: "{path}",
      output: `${exists ? "Wrote" : "Made"} {path} ({n} bytes).`,
      metadata: { filepath: "{root}/{path}", exists, diff: "" },
    },
  )
}

const endings: Record<Outcome, string> = {
  ok: "",
  failed: "\nexit code {exit}",
  timeout: "\nThe command was ended after 120000 ms, its time limit. What it printed until then is above.",
}

/** A call of the bash tool with a random command that has the given outcome. */
export function ran(outcome: Outcome, input: JsonObject = {}): Called {
  const { description } = input
  return call(
    "bash",
    { command: "{command}", ...input },
    {
      title: typeof description === "string" ? description : "{command}",
      output: `{output}${endings[outcome]}`,
      metadata: { exit: "{exit}", ...(outcome === "timeout" && { timedOut: true }) },
      keep: ["{command}"],
      outcome,
    },
  )
}

/** A call of the bash tool with the given command and output. */
export function shell(command: string, result: CallResult & { description?: string }): Called {
  const { description, ...rest } = result
  return call(
    "bash",
    { command, ...(description && { description }) },
    { title: description ?? command, metadata: { exit: 0 }, output: "(no output)", ...rest },
  )
}

type ListedMore = Partial<Pick<Listed, "tool" | "status">>

export function listed(content: string, keep: readonly Kept[], more: ListedMore = {}): Listed {
  return { by: "list", tool: "todowrite", status: "pending", content, keep, ...more }
}

export function patched(...files: string[]): Patched {
  return { by: "patch", files, keep: files }
}
