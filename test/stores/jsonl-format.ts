/**
 * The rules by which other programs with this format (version 3) read a session file. Those programs open, list and
 * continue a file that follows the rules. `test/stores/jsonl-format.test.ts` checks that the driver follows them.
 */
type Fields = Record<string, unknown>

export interface ReadFile {
  /** One sentence for each broken rule. */
  problems: string[]
  /** The session's name, as a list shows it. */
  name: string | undefined
  /** The path from the first entry to the last line of the file: the other program would continue after it. */
  path: Fields[]
  /** What the other program would send to a model, shortened: `user: text`, `call: name`, `result: text`. */
  context: string[]
}

const headerBytesMax = 1024 * 1024
const sessionID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/
const stopReasons = ["stop", "length", "toolUse", "error", "aborted"]
const usageFields = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"]
/** Entry types that are not sent to the model. */
const silent = ["session_info", "custom", "label", "model_change", "thinking_level_change", "usage"]

/** Reads a file as the other programs do. */
export function readAsOthersDo(text: string): ReadFile {
  const problems: string[] = []
  if (!text.endsWith("\n")) problems.push("the file does not end with a line feed")
  const lines = text.split("\n").filter((line) => line.trim() !== "")
  const values: Fields[] = []
  for (const [index, line] of lines.entries()) {
    try {
      values.push(JSON.parse(line) as Fields)
    } catch {
      problems.push(`line ${index + 1} is not JSON: they skip it`)
    }
  }
  const [header, ...entries] = values
  problems.push(...checkHeader(header, lines[0] ?? ""), ...checkTree(entries))
  for (const entry of entries) problems.push(...checkEntry(entry).map((why) => `${String(entry.id)}: ${why}`))
  const path = pathOf(entries)
  problems.push(...checkPairs(path), ...checkCompactions(path))
  const named = entries.findLast((entry) => entry.type === "session_info")
  return { problems, name: named?.name as string | undefined, path, context: contextOf(path) }
}

/** Other programs read every `.jsonl` file of a directory, and skip a file whose first line is not a header. */
export function isListed(text: string): boolean {
  const [first] = text.split("\n")
  const value = JSON.parse(first ?? "") as Fields
  return value.type === "session" && typeof value.id === "string"
}

function checkHeader(header: Fields | undefined, line: string): string[] {
  if (header?.type !== "session") return ["the first line is no header: they refuse the file"]
  const problems: string[] = []
  if (typeof header.id !== "string" || !sessionID.test(header.id)) problems.push("the header has no good id")
  if (header.version !== 3) problems.push("the header's version is not 3: they rewrite the file")
  if (!isTime(header.timestamp)) problems.push("the header has no ISO timestamp")
  if (typeof header.cwd !== "string" || header.cwd === "") problems.push("the header has no cwd")
  if (Buffer.byteLength(line) > headerBytesMax) problems.push("the header is longer than they look")
  return problems
}

function checkTree(entries: Fields[]): string[] {
  const problems: string[] = []
  const seen = new Set<unknown>()
  for (const [index, { id, parentId, timestamp, type }] of entries.entries()) {
    const name = `line ${index + 2}`
    if (type === "session") problems.push(`${name} is a second header`)
    if (typeof id !== "string" || id === "") problems.push(`${name} has no id`)
    if (seen.has(id)) problems.push(`${name} has the id of an earlier line`)
    if (parentId !== null && !seen.has(parentId))
      problems.push(`${name} follows ${String(parentId)}, which is not above it`)
    if (!isTime(timestamp)) problems.push(`${name} has no ISO timestamp`)
    seen.add(id)
  }
  return problems
}

function checkEntry(entry: Fields): string[] {
  if (entry.type === "message") return checkMessage(entry.message as Fields | undefined)
  if (entry.type === "compaction") {
    const whole =
      typeof entry.summary === "string" &&
      typeof entry.firstKeptEntryId === "string" &&
      typeof entry.tokensBefore === "number"
    return whole ? [] : ["a compaction needs summary, firstKeptEntryId and tokensBefore"]
  }
  return silent.includes(String(entry.type)) ? [] : [`they know no entries of type ${String(entry.type)}`]
}

function checkMessage(message: Fields | undefined): string[] {
  if (!message || typeof message.timestamp !== "number")
    return ["a message needs a timestamp in milliseconds"]
  switch (message.role) {
    case "user":
      return typeof message.content === "string" ? [] : checkBlocks(message.content, ["text", "image"])
    case "assistant":
      return [...checkBlocks(message.content, ["text", "thinking", "toolCall"]), ...checkAnswer(message)]
    case "toolResult": {
      const whole =
        typeof message.toolCallId === "string" &&
        typeof message.toolName === "string" &&
        typeof message.isError === "boolean"
      return [
        ...checkBlocks(message.content, ["text", "image"]),
        ...(whole ? [] : ["a result needs toolCallId, toolName and isError"]),
      ]
    }
    default:
      return [`they know no role ${String(message.role)}`]
  }
}

function checkAnswer(message: Fields): string[] {
  const problems: string[] = []
  for (const field of ["api", "provider", "model"]) {
    if (typeof message[field] !== "string" || message[field] === "") problems.push(`an answer needs ${field}`)
  }
  const usage = (message.usage ?? {}) as Fields
  const cost = (usage.cost ?? {}) as Fields
  if (!usageFields.every((field) => typeof usage[field] === "number"))
    problems.push("an answer needs its usage")
  if (typeof cost.total !== "number") problems.push("an answer needs its cost")
  if (!stopReasons.includes(String(message.stopReason)))
    problems.push("an answer needs a reason why it stopped")
  return problems
}

const blockFields: Record<string, string[]> = {
  text: ["text"],
  thinking: ["thinking"],
  image: ["data", "mimeType"],
  toolCall: ["id", "name"],
}

function checkBlocks(content: unknown, allowed: string[]): string[] {
  if (!Array.isArray(content)) return ["the content is no list of blocks"]
  return (content as Fields[]).flatMap((block) => {
    const type = String(block.type)
    if (!allowed.includes(type)) return [`a block of type ${type} has no place here`]
    const missing = blockFields[type]!.filter((field) => typeof block[field] !== "string")
    const noInput = type === "toolCall" && (typeof block.arguments !== "object" || block.arguments === null)
    return [...missing, ...(noInput ? ["arguments"] : [])].map((field) => `a ${type} block needs ${field}`)
  })
}

function pathOf(entries: Fields[]): Fields[] {
  const byID = new Map(entries.flatMap((entry) => (typeof entry.id === "string" ? [[entry.id, entry]] : [])))
  const path = new Set<Fields>()
  let entry = entries.at(-1)
  while (entry && !path.has(entry)) {
    path.add(entry)
    entry = byID.get(String(entry.parentId))
  }
  return [...path].reverse()
}

function messageOf(entry: Fields): Fields | undefined {
  return entry.type === "message" ? (entry.message as Fields) : undefined
}

function callsOf(message: Fields | undefined): string[] {
  if (message?.role !== "assistant") return []
  return (message.content as Fields[]).flatMap((block) =>
    block.type === "toolCall" ? [String(block.id)] : [],
  )
}

/** Models refuse a call without a result and a result without a call. */
function checkPairs(path: Fields[]): string[] {
  const problems: string[] = []
  let waiting: string[] = []
  for (const entry of path) {
    const message = messageOf(entry)
    if (!message) continue
    if (message.role === "toolResult") {
      const index = waiting.indexOf(String(message.toolCallId))
      if (index < 0) problems.push(`${String(entry.id)}: a result without its call`)
      else waiting.splice(index, 1)
      continue
    }
    if (waiting.length > 0) problems.push(`${String(entry.id)}: calls before it have no result`)
    waiting = callsOf(message)
  }
  return waiting.length > 0 ? [...problems, "the last calls have no result"] : problems
}

/** `firstKeptEntryId` of a compaction must name an earlier entry of the same path, or the compaction itself. */
function checkCompactions(path: Fields[]): string[] {
  return path.flatMap((entry, index) => {
    if (entry.type !== "compaction") return []
    const before = path.slice(0, index + 1).some(({ id }) => id === entry.firstKeptEntryId)
    return before
      ? []
      : [`${String(entry.id)}: it keeps ${String(entry.firstKeptEntryId)}, which is not before it`]
  })
}

function contextOf(path: Fields[]): string[] {
  const at = path.findLastIndex((entry) => entry.type === "compaction")
  const compaction = path[at]
  if (!compaction) return path.flatMap(said)
  const kept = path.slice(0, at)
  const first = kept.findIndex(({ id }) => id === compaction.firstKeptEntryId)
  const summary = `summary: ${String(compaction.summary)}`
  return [summary, ...(first < 0 ? [] : kept.slice(first)).flatMap(said), ...path.slice(at + 1).flatMap(said)]
}

function said(entry: Fields): string[] {
  const message = messageOf(entry)
  if (!message) return []
  const role = message.role === "toolResult" ? "result" : String(message.role)
  if (typeof message.content === "string") return [`${role}: ${message.content}`]
  return (message.content as Fields[]).map((block) =>
    block.type === "toolCall"
      ? `call: ${String(block.name)}`
      : `${role}: ${String(block.text ?? block.thinking ?? "image")}`,
  )
}

function isTime(value: unknown): boolean {
  return typeof value === "string" && /^\d{4}-\d{2}-\d{2}T/.test(value) && !Number.isNaN(Date.parse(value))
}
