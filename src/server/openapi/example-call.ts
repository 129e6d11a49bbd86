import { type IDKind, idPrefix } from "../../protocol/id/id-prefix.ts"
import type { OpenApiDocument, Operation } from "./openapi.ts"
import type { JsonSchema } from "./schema-book.ts"

/** An example of a call, in two forms. */
export interface ExampleCall {
  /** The path and the query, with sample values. */
  path: string
  body: unknown
  /** A command for a shell, with the token in `$TOKEN`. */
  curl: string
}

const base = "http://127.0.0.1:4096"
const ulid = "01k8zzzzzzzzzzzzzzzzzzzzzz"

/** Values that say more than "text", by the name of a field or a parameter. */
const samples: Record<string, string> = {
  command: "git status",
  directory: "/home/me/project",
  hash: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
  id: "build",
  instructions: "Keep the file names.",
  message: "What is in this directory?",
  path: "README.md",
  pattern: "oolong",
  q: "oolong",
  query: "oolong",
  reason: "No longer needed.",
  text: "What is in this directory?",
  title: "Tidy up",
  url: "/",
}

/** Fields that an example has though they are optional: an empty body would show nothing. */
const telling = ["text", "title", "reason", "instructions"]

/** Bodies that the schemas alone do not say enough about, by operation id. */
const bodies: Record<string, unknown> = {
  "session.append": { role: "user", text: "The deadline is Friday." },
  "session.command": { name: "review", args: "src" },
  "session.redact": { messageID: `msg_${ulid}` },
  "opencode.session.command": { command: "review", arguments: "src" },
}

/** The example of an operation. The values fit the schemas; the ids are samples. */
export function exampleCall(
  document: OpenApiDocument,
  { method, path, operation }: { method: string; path: string; operation: Operation },
): ExampleCall {
  const sample = (schema: JsonSchema, name: string) => sampleOf(document, { schema, name, depth: 0 })
  const { parameters = [], requestBody, security } = operation
  const values = new Map(parameters.map(({ name, schema }) => [name, textOf(sample(schema, name))]))
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values.get(name) ?? name))
  const query = new URLSearchParams()
  for (const { name, in: source, required } of parameters)
    if (source === "query" && (required || name === "sessionId")) query.set(name, values.get(name)!)
  const target = query.size === 0 ? filled : `${filled}?${query}`
  const schema = requestBody && Object.values(requestBody.content)[0]?.schema
  const body = bodies[operation.operationId] ?? (schema && sample(schema, "body"))
  const isStream = Object.values(operation.responses).some(
    (answer) => "content" in answer && answer.content?.["text/event-stream"],
  )
  const words = [
    "curl",
    ...(isStream ? ["-N"] : []),
    ...(method === "GET" ? [] : [`-X ${method}`]),
    ...(security ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...(body === undefined
      ? []
      : ["-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
    quoted(`${base}${target}`),
  ]
  return { path: target, body, curl: words.join(" ") }
}

interface Sampled {
  schema: JsonSchema
  name: string
  depth: number
}

function sampleOf(document: OpenApiDocument, { schema, name, depth }: Sampled): unknown {
  const { $ref, const: only, enum: some, default: preset } = schema
  if (typeof $ref === "string") {
    const key = $ref.split("/").at(-1)!
    const kind = /^(\w+)ID$/.exec(key)?.[1]?.toLowerCase()
    if (kind && Object.hasOwn(idPrefix, kind)) return `${idPrefix[kind as IDKind]}_${ulid}`
    return sampleOf(document, { schema: document.components.schemas[key]!, name, depth })
  }
  if (only !== undefined) return only
  if (Array.isArray(some)) return some[0]
  if (preset !== undefined) return preset
  const choice = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined
  if (choice) return sampleOf(document, { schema: choice[0]!, name, depth })
  switch ([schema.type].flat()[0]) {
    case "string":
      return stringSample(name)
    case "integer":
    case "number":
      return Math.max(Number(schema.minimum ?? 1), 1)
    case "boolean":
      return true
    case "array":
      return [sampleOf(document, { schema: (schema.items ?? {}) as JsonSchema, name, depth: depth + 1 })]
    case "object":
      return objectSample(document, { schema, name, depth })
    default:
      return schema.type === "null" ? null : {}
  }
}

function objectSample(document: OpenApiDocument, { schema, depth }: Sampled): Record<string, unknown> {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  const isShown = (name: string) => required.includes(name) || (depth === 0 && telling.includes(name))
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => isShown(name))
      .map(([name, one]) => [name, sampleOf(document, { schema: one, name, depth: depth + 1 })]),
  )
}

function stringSample(name: string): string {
  return samples[name] ?? "example"
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}

/** A word for a POSIX shell. */
function quoted(text: string): string {
  return /^[\w:/.?=&%-]+$/.test(text) && !/[?&]/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
