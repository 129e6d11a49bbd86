import type { JsonObject, PartOf } from "../../../protocol/index.ts"
import type { Facts } from "../collect.ts"
import { namesIn } from "../names.ts"
import { shorten } from "../sentences/prose.ts"
import { type CallShape, callShape } from "./call-shape.ts"
import { commandRun, commandRunRank } from "./commands.ts"
import { shellFiles } from "./shell-files.ts"

export const fileRanks = { changed: 78, removed: 74, stated: 68, told: 36, named: 22, read: 20 } as const

/** Tools are recognised by their names and inputs, because imported sessions have other tools. */
const isTodoTool = /todo|plan_?update|update_?plan/i
const isShellTool = /bash|shell|exec|terminal|command|powershell|^run$|process/i
const isChangeTool =
  /write|edit|patch|diff|create|replace|insert|append|delete|remove|move|rename|copy|save|update|modify|put/i
const isReadTool = /read|view|open|cat|show|get/i
const isRemoval = /delete|remove|unlink|trash|^rm$/i
const isMove = /move|rename|^mv$/i
/** Commands of multi-purpose editor tools. They are not command lines. */
const editorVerb =
  /^(?:view|create|str_replace|insert|undo_edit|write|read|delete|edit|append|replace|rename|move|list|open)$/i

/**
 * Adds the facts of a tool call. `within` turns a path that the model gave into a path that is the same for every call.
 */
export function toolFacts(part: PartOf<"tool">, facts: Facts, within: (path: string) => string): void {
  const { state, tool } = part
  if (isTodoTool.test(tool)) {
    if (state.status === "completed" && !/read/i.test(tool)) todoFacts(state, facts)
  } else {
    const shape = callShape(state.input)
    const { command } = shape
    const verb = command !== undefined && editorVerb.test(command) ? command : undefined
    const runs = command !== undefined && verb === undefined && (isShellTool.test(tool) || !shape.writes)
    if (runs) shellFacts(state, { command, facts, within })
    else if (state.status === "completed")
      fileFacts(verb === undefined ? tool : `${tool} ${verb}`, { shape, facts, within })
    if (state.status === "completed" && typeof state.input.url === "string")
      facts.identifier(state.input.url.slice(0, 200), { note: "", rank: 44 })
  }
  if (state.status === "error") nameFacts(state.error, facts, { rankMax: 70 })
}

interface Found {
  shape: CallShape
  facts: Facts
  within: (path: string) => string
}

function fileFacts(does: string, { shape, facts, within }: Found): void {
  const looks = / view$| read$| list$| open$/i.test(does)
  const changes = !looks && (isChangeTool.test(does) || shape.writes || shape.source !== undefined)
  if (!changes && !isReadTool.test(does)) return
  const removes = changes && isRemoval.test(does)
  for (const path of shape.paths) {
    if (changes) facts.file(within(path), { changes: 1, removed: removes, rank: fileRanks.changed })
    else facts.file(within(path), { reads: 1, rank: fileRanks.read })
  }
  const gone = [...shape.removed, ...(shape.source !== undefined && isMove.test(does) ? [shape.source] : [])]
  for (const path of gone) facts.file(within(path), { changes: 1, removed: true, rank: fileRanks.removed })
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

function shellFacts(
  state: PartOf<"tool">["state"],
  { command, facts, within }: { command: string; facts: Facts; within: (path: string) => string },
): void {
  if (state.status !== "completed" && state.status !== "error") return
  const output = state.status === "completed" ? state.output : state.error
  const end = commandRun(command, {
    exit: exitOf(state.metadata, output),
    output,
    failed: state.status === "error",
    timedOut: state.metadata?.timedOut === true || saysTimeout.test(output.slice(-200)),
  })
  facts.command(end.command, { outcome: end.outcome, rank: commandRunRank(end) })
  if (end.failed) nameFacts(end.outcome, facts, { rankMax: 66 })
  else if (output.length <= 600 && commandRunRank(end) > 50) nameFacts(output, facts, { rankMax: 60 })
  if (end.failed) return
  const files = shellFiles(command)
  for (const path of files.removed) {
    facts.file(within(path), { changes: 1, removed: true, rank: fileRanks.removed })
  }
  for (const path of files.changed) facts.file(within(path), { changes: 1, rank: fileRanks.changed })
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

/** Adds names in tool output, but only those that are surely names. */
function nameFacts(text: string, facts: Facts, { rankMax }: { rankMax: number }): void {
  for (const line of text.slice(0, scannedMax).split("\n")) {
    for (const { value, rank } of namesIn(line.slice(0, 300))) {
      if (rank >= 62) facts.identifier(value, { note: noteOf(line, value), rank: Math.min(rank, rankMax) })
    }
  }
}

const wholeNoteLength = 64
const noteLength = { before: 36, after: 16 }

/** The text around a name, without the name: the whole sentence if it is short, else a few words. */
export function noteOf(sentence: string, value: string): string {
  const at = sentence.indexOf(value)
  if (at < 0) return ""
  const isWhole = sentence.length - value.length <= wholeNoteLength
  const from = isWhole ? 0 : Math.max(0, at - noteLength.before)
  const to = isWhole ? sentence.length : Math.min(sentence.length, at + value.length + noteLength.after)
  const before = sentence.slice(from, at)
  const after = sentence.slice(at + value.length, to)
  const cut = from > 0 ? before.replace(/^[!-~]*\s/, "") : before
  const rest = to < sentence.length ? after.replace(/\s[!-~]*$/, "") : after
  return shorten(
    `${cut.trim()} _ ${rest.trim()}`.toWellFormed().replace(/^[\s_.,:;，。：]+|[\s_.,:;，。：]+$/g, ""),
    wholeNoteLength + 6,
  )
}
