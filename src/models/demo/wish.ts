import type { JsonObject } from "../../protocol/index.ts"
import { isQuoted } from "./quotes.ts"

export interface DemoCall {
  tool: string
  input: JsonObject
}

/** One thing that the user asks for: calls in order, each made only if the call before it succeeded. */
export type Wish = readonly DemoCall[]

export interface DemoTodo {
  id: string
  content: string
  status: string
  priority: string
}

export type WishKind =
  | "task"
  | "todo-new"
  | "todo-add"
  | "todo-done"
  | "todo-show"
  | "fetch"
  | "skill"
  | "edit"
  | "write"
  | "run"
  | "grep"
  | "glob"
  | "list"
  | "read"

/** The named groups of a rule's match in a clause. */
export type Found = Partial<Record<FoundName, string>>
export type FoundName =
  | "agent"
  | "all"
  | "count"
  | "files"
  | "from"
  | "new"
  | "old"
  | "path"
  | "text"
  | "to"
  | "url"
  | "verb"

export interface WishOptions {
  /** The present todo list. */
  todos: readonly DemoTodo[]
  /** Replaces placeholders by the quoted texts. Lists are split before, so that a quoted comma splits nothing. */
  plain: (text: string) => string
}

/** The wishes of a matched rule; an empty list if the matched text does not fit that kind of wish. */
export function wishesOf(kind: WishKind, hidden: Found, { todos, plain }: WishOptions): Wish[] {
  const found: Found = Object.fromEntries(
    Object.entries(hidden).map(([name, value]) => [name, plain(value.trim())]),
  )
  const { text = "", path = "" } = found
  switch (kind) {
    case "task":
      return [[call("task", { description: firstWords(text), prompt: text, subagent_type: agentOf(found) })]]
    case "todo-new":
      return todoWish(listOf(hidden.text, { plain, after: [] }))
    case "todo-add":
      return todoWish([...todos, ...listOf(hidden.text, { plain, after: todos })])
    case "todo-done":
      return todoWish(todos.map((todo) => (isMeant(todo, text) ? { ...todo, status: "completed" } : todo)))
    case "todo-show":
      return [[call("todoread", {})]]
    case "fetch":
      return [[call("webfetch", { url: found.url })]]
    case "skill":
      return [[call("skill", { name: text })]]
    case "run":
      return [[call("bash", { command: text, description: firstWords(text) })]]
    case "write":
      return looksLikePath(path) ? [[call("write", { filePath: path, content: withNewline(text) })]] : []
    case "edit":
      return looksLikePath(path) ? [editWish(found)] : []
    case "grep":
      return isGlob(text) ? [globWish(found)] : [grepWish(found)]
    case "glob":
      return /\s/.test(text) ? [grepWish(found)] : [globWish(found)]
    case "list":
      return [[call("list", whereOf(path))]]
    case "read":
      return readWishes(hidden, plain)
  }
}

function call(tool: string, input: JsonObject): DemoCall {
  return { tool, input }
}

function agentOf({ agent }: Found): string {
  return agent === undefined || /^(sub|another|new)$/i.test(agent) ? "general" : agent.toLowerCase()
}

function firstWords(text: string): string {
  const words = text.replace(/\s+/g, " ").trim()
  return words.length > 40 ? `${words.slice(0, 40).toWellFormed()}...` : words
}

function todoWish(todos: readonly DemoTodo[]): Wish[] {
  return todos.length > 0 ? [[call("todowrite", { todos: [...todos] })]] : []
}

function listOf(
  text = "",
  { plain, after }: { plain: WishOptions["plain"]; after: readonly DemoTodo[] },
): DemoTodo[] {
  const items = text.split(/\s*[,;，；、\n]\s*(?:[-*] |\d+[.)、] ?)?|\s+\d+[.)] /)
  const contents = items
    .map((item) => plain(item.replace(/^(?:[-*] |\d+[.)、] ?|and )/, "")).trim())
    .filter(Boolean)
  const taken = new Set(after.map((todo) => todo.id))
  let number = 0
  return contents.map((content) => {
    do number++
    while (taken.has(String(number)))
    return { id: String(number), content, status: "pending", priority: "medium" }
  })
}

function isMeant(todo: DemoTodo, text: string): boolean {
  return todo.id === text || todo.content.toLowerCase().includes(text.toLowerCase())
}

/** The file is read first, because the edit tool refuses a file that was not read. */
function editWish({ path = "", old = "", new: replacement = "", all }: Found): Wish {
  const input = { filePath: path, oldString: old, newString: replacement, ...(all && { replaceAll: true }) }
  return [call("read", { filePath: path }), call("edit", input)]
}

function grepWish({ text = "", path = "" }: Found): Wish {
  const expression = /^\/(.+)\/$/.exec(text)
  const pattern = expression ? expression[1]! : text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")
  return [call("grep", { pattern, ...(isGlob(path) ? { include: path } : whereOf(path)) })]
}

function globWish({ text = "", path = "", files }: Found): Wish {
  return [call("glob", { pattern: globPattern(text, { files: files !== undefined }), ...whereOf(path) })]
}

/** Users write an extension (`.ts`, `ts files`), a pattern, or a part of a name. */
function globPattern(text: string, { files }: { files: boolean }): string {
  if (/^files?$|^文件$/i.test(text)) return "**/*"
  if (isGlob(text)) return text.includes("/") ? text : `**/${text}`
  if (/^\.\w+$/.test(text)) return `**/*${text}`
  if (/^[\p{L}\w-]+(?:\.[\w-]+)*\.\w{1,8}$/u.test(text)) return `**/${text}`
  if (files && /^\w{1,5}$/.test(text)) return `**/*.${text.toLowerCase()}`
  return text.includes("/") ? text : `**/*${text}*`
}

function readWishes({ text = "", verb = "", from, to, count }: Found, plain: WishOptions["plain"]): Wish[] {
  const paths = text
    .split(/\s*(?:[,，、]|\s(?:and|和|跟|以及)\s|(?<=\w)(?:和|以及)(?=[\w./]))\s*/)
    .filter(Boolean)
  const sure = /^(?:read|cat|读|读取)$/i.test(verb)
  const isPath = (path: string) => !/\s/.test(path) && (sure || isQuoted(path) || looksLikePath(path))
  if (paths.length === 0 || !paths.every(isPath)) return []
  const offset = from === undefined ? undefined : Number(from)
  const limit = count ?? (to === undefined || from === undefined ? undefined : Number(to) - Number(from) + 1)
  const page = {
    ...(offset !== undefined && offset > 0 && { offset }),
    ...(limit !== undefined && Number(limit) > 0 && { limit: Number(limit) }),
  }
  return paths.map((path) => [call("read", { filePath: plain(path), ...page })])
}

function whereOf(path: string): JsonObject {
  const here =
    /^(?:|\.|\.\/|here|there|this|it|the|project|files?|everything|(?:this |the )?(?:directory|folder)|这里|当前|项目|(?:当前|这个)?(?:目录|文件夹))$/i.test(
      path,
    )
  return here ? {} : { path }
}

function isGlob(text: string): boolean {
  return /^[^\s]*[*?{][^\s]*$/.test(text)
}

/** True for a name with an extension or a directory, and for well-known names such as README. */
function looksLikePath(text: string): boolean {
  if (text === "" || /^https?:/.test(text)) return false
  return /[./\\~]/.test(text.slice(0, -1)) || /^(?:readme|license|changelog|makefile|dockerfile)$/i.test(text)
}

function withNewline(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`
}
