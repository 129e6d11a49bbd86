import type { JsonObject, PartOf } from "../../protocol/index.ts"
import type { Facts } from "./collect.ts"
import { ran, ranRank } from "./commands.ts"
import { namesIn } from "./names.ts"
import { shorten } from "./prose.ts"
import { shellFiles } from "./shell-files.ts"

export const fileRanks = { changed: 78, removed: 74, stated: 68, named: 40, read: 20 } as const

/** Tools are told apart by their names, since sessions from elsewhere have tools of other names. */
const isTodoTool = /todo|plan_?update|update_?plan/i
const isShellTool = /bash|shell|exec|terminal|command|powershell|^run$/i
const isChangeTool = /write|edit|patch|create|replace|insert|append|delete|remove|move|rename|save/i
const isReadTool = /read|view|open|cat/i

const pathNames = [
  "filePath",
  "path",
  "file_path",
  "filepath",
  "file",
  "filename",
  "notebook_path",
  "target_file",
  "absolute_path",
]

/** Tells what a call did. `within` makes a path that the model gave one that reads the same in every call. */
export function toolFacts(part: PartOf<"tool">, facts: Facts, within: (path: string) => string): void {
  const { state, tool } = part
  if (isTodoTool.test(tool)) {
    if (state.status === "completed" && !/read/i.test(tool)) todoFacts(state, facts)
  } else if (isShellTool.test(tool)) shellFacts(part, facts, within)
  else if (state.status === "completed") {
    const change = isChangeTool.test(tool) && state.input.command !== "view"
    if (change || isReadTool.test(tool)) {
      for (const path of inputPaths(state.input)) {
        const removed = /delete|remove/i.test(tool)
        if (change) facts.file(within(path), { changes: 1, removed, rank: fileRanks.changed })
        else facts.file(within(path), { reads: 1, rank: fileRanks.read })
      }
    }
    if (typeof state.input.url === "string")
      facts.identifier(state.input.url.slice(0, 200), { note: "", rank: 44 })
  }
  if (state.status === "error") nameFacts(state.error, facts, { rankMax: 70 })
}

function inputPaths(input: JsonObject): string[] {
  const single = pathNames.flatMap((name) => stringOf(input[name]) ?? []).slice(0, 1)
  const several = [input.files, input.paths, input.edits].flatMap((list) =>
    Array.isArray(list)
      ? list.flatMap((each) => stringOf(each) ?? (isObject(each) ? inputPaths(each) : []))
      : [],
  )
  const patch = ["patchText", "patch", "input"].flatMap((name) => stringOf(input[name]) ?? []).slice(0, 1)
  const patched = patch.flatMap((text) =>
    [...text.matchAll(/^\*\*\* (?:Add|Update|Delete) File: ([^\n]{1,300})$/gm)].map((match) =>
      match[1]!.trim(),
    ),
  )
  return [...new Set([...single, ...several, ...patched])].filter((path) => !path.startsWith("blob:"))
}

function stringOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function todoFacts(state: { input: JsonObject; metadata?: JsonObject }, facts: Facts): void {
  const list = [state.metadata?.todos, state.input.todos, state.input.plan].find(Array.isArray) as
    | unknown[]
    | undefined
  if (list === undefined) return
  const open = list.filter(isObject).flatMap((todo) => {
    const text = stringOf(todo.content) ?? stringOf(todo.text) ?? stringOf(todo.step)
    const status = todo.status === "in_progress" ? ("in_progress" as const) : ("pending" as const)
    return text === undefined || todo.status === "completed" || todo.status === "cancelled"
      ? []
      : [{ text, status }]
  })
  facts.todos(open)
}

function shellFacts({ state }: PartOf<"tool">, facts: Facts, within: (path: string) => string): void {
  const command = commandOf(state.input)
  if (command === undefined || (state.status !== "completed" && state.status !== "error")) return
  const output = state.status === "completed" ? state.output : state.error
  const end = ran(command, {
    exit: exitOf(state.metadata, output),
    output,
    failed: state.status === "error",
    timedOut: state.metadata?.timedOut === true || saysTimeout.test(output.slice(-200)),
  })
  facts.command(end.command, { outcome: end.outcome, rank: ranRank(end) })
  if (end.failed) nameFacts(end.outcome, facts, { rankMax: 66 })
  else if (output.length <= 600 && ranRank(end) > 50) nameFacts(output, facts, { rankMax: 60 })
  if (end.failed) return
  const files = shellFiles(command)
  for (const path of files.removed) {
    facts.file(within(path), { changes: 1, removed: true, rank: fileRanks.removed })
  }
  for (const path of files.changed) facts.file(within(path), { changes: 1, rank: fileRanks.changed })
}

/** The command line; one given as words is joined, without the shell that runs it. */
function commandOf(input: JsonObject): string | undefined {
  const given = input.command ?? input.cmd ?? input.script
  if (!Array.isArray(given)) return stringOf(given)
  const words = given.filter((word) => typeof word === "string")
  return stringOf(/^-\w*c$/.test(words[1] ?? "") ? words.slice(2).join(" ") : words.join(" "))
}

const saysTimeout = /was ended after \d+ ms, its time limit|\btimed out after\b|command timed out/i
const saysExit =
  /\b(?:exit(?:ed)?|return(?:ed)?|terminated)(?: with)?[ _-]?(?:code|status)?["'>:=\]]*[ :=]*(\d{1,3})\b/i

function exitOf(metadata: JsonObject | undefined, output: string): number | undefined {
  const given = metadata?.exit ?? metadata?.exitCode ?? metadata?.exit_code
  if (given !== undefined && given !== null && /^\d{1,3}$/.test(String(given))) return Number(given)
  const said = saysExit.exec(output.slice(-160)) ?? saysExit.exec(output.slice(0, 160))
  return said ? Number(said[1]) : undefined
}

const scannedMax = 1_500

/** Names in what a tool said: those that are surely names. */
function nameFacts(text: string, facts: Facts, { rankMax }: { rankMax: number }): void {
  for (const line of text.slice(0, scannedMax).split("\n")) {
    for (const { value, rank } of namesIn(line.slice(0, 300))) {
      if (rank >= 62) facts.identifier(value, { note: noteOf(line, value), rank: Math.min(rank, rankMax) })
    }
  }
}

const noteLength = { before: 24, after: 12 }

/** A few words before and after a name, the name itself left out. */
export function noteOf(sentence: string, value: string): string {
  const at = sentence.indexOf(value)
  if (at < 0) return ""
  const before = sentence.slice(Math.max(0, at - noteLength.before), at)
  const after = sentence.slice(at + value.length, at + value.length + noteLength.after)
  const cut = at > noteLength.before ? before.replace(/^[!-~]*\s/, "") : before
  const rest = sentence.length > at + value.length + noteLength.after ? after.replace(/\s[!-~]*$/, "") : after
  return shorten(
    `${cut.trim()} _ ${rest.trim()}`.toWellFormed().replace(/^[\s_.,:;，。：]+|[\s_.,:;，。：]+$/g, ""),
    50,
  )
}
