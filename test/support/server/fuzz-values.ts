import fc from "fast-check"
import { resolveSchema, type Schema } from "./fuzz-json-schema.ts"

/**
 * A placeholder for a value that exists when the request is sent: `§session:3`. With placeholders a failing request can
 * be printed, shrunk and sent again.
 */
export type Marker = `§${MarkerKind}:${number}`
export type MarkerKind =
  | "session"
  | "message"
  | "part"
  | "permission"
  | "blob"
  | "cursor"
  | "directory"
  | "secret"

export const markers = /§(session|message|part|permission|blob|cursor|directory|secret):(\d+)/g

const markerOf = (kind: MarkerKind) => fc.nat(7).map((at): string => `§${kind}:${at}`)
const id = (prefix: string) => fc.stringMatching(/^[0-9a-z]{26}$/).map((rest) => `${prefix}_${rest}`)

/** Texts that have broken programs. None of them has an effect in a shell. */
export const oddTexts = [
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "\udfff\ud800",
  "\u202e\u0000\uffff",
  "__proto__",
  "constructor",
  "null",
  "../../../etc/passwd",
  "..\\..\\x",
  "%2e%2e%2f",
  "ses_",
  "-1",
  "1e309",
  "{}",
  "中文 日本語 한국어",
  "👩‍👩‍👧‍👦",
  "a".repeat(300),
  "x".repeat(20_000),
]

const oddNumbers = [0, -0, -1, 0.5, 1e21, -1e21, 1e308, 2 ** 53, -(2 ** 53), 2 ** 31, 4_294_967_296, 1e-320]

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let at = 0; at < levels; at++) value = at % 2 === 0 ? [value] : { a: value }
  return value
}

/** Values that no field expects. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], deep(50), deep(400)),
  fc.constantFrom<unknown>(...oddNumbers),
  fc.constantFrom<unknown>(...oddTexts),
  fc.constant(JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')),
  fc.array(fc.constant({ type: "text" }), { minLength: 1, maxLength: 50 }),
)

/** Values by the name of a field, where random text would hardly ever be meaningful. */
const byName: Record<string, fc.Arbitrary<unknown>> = {
  // Ids have a pattern. A path parameter without a pattern is the name of an agent.
  id: fc.constantFrom("build", "build", "plan", "nobody", "__proto__"),
  sessionKey: fc.constantFrom("telegram:1", "a".repeat(600), ""),
  directory: markerOf("directory"),
  cursor: fc.oneof(markerOf("cursor"), fc.constantFrom("1", "0", "x")),
  since: fc.oneof(markerOf("cursor"), fc.constantFrom("1", "0", "x", "99999999")),
  hash: fc.oneof(markerOf("blob"), fc.stringMatching(/^[0-9a-f]{64}$/)),
  secret: fc.oneof(markerOf("secret"), fc.constantFrom("nothing", "data", "%00", "a".repeat(2000))),
  agent: fc.constantFrom("build", "plan", "general", "title", "nobody"),
  model: fc.constantFrom("scripted/m", "scripted/other", "nobody/nothing"),
  providerID: fc.constantFrom("scripted", "nobody"),
  modelID: fc.constantFrom("m", "nothing"),
  path: fc.constantFrom(".", "a.txt", "below", "below/b.txt", "..", "../data", "/etc/passwd", "", "\0"),
  file: fc.constantFrom("share.css", "share.js", "nothing", "..", "style.css"),
  command: fc.constantFrom("true", "echo hi", "exit 3"),
  url: fc.constantFrom(
    "data:text/plain;base64,aGk=",
    "data:,x",
    "data:image/png;base64,AAAA",
    "file:///etc/passwd",
    "file:a.txt",
    "blob:§blob:0",
    "http://127.0.0.1:1/",
    "javascript:alert(1)",
    "",
  ),
}

const byReference: Record<string, fc.Arbitrary<unknown>> = {
  SessionID: fc.oneof({ weight: 4, arbitrary: markerOf("session") }, { weight: 1, arbitrary: id("ses") }),
  MessageID: fc.oneof({ weight: 3, arbitrary: markerOf("message") }, { weight: 2, arbitrary: id("msg") }),
  PartID: fc.oneof({ weight: 3, arbitrary: markerOf("part") }, { weight: 2, arbitrary: id("prt") }),
  PermissionID: fc.oneof(
    { weight: 3, arbitrary: markerOf("permission") },
    { weight: 1, arbitrary: id("per") },
  ),
}

/** Values that a schema allows. */
export function valuesOf(schema: Schema, root: Schema, name = ""): fc.Arbitrary<unknown> {
  const { $ref, type } = schema
  if (typeof $ref === "string") {
    const known = byReference[$ref.split("/").at(-1)!]
    return known ?? valuesOf(resolveSchema($ref, root), root, name)
  }
  if ("const" in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]))
  const some = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (some) return fc.oneof(...some.map((one) => valuesOf(one, root, name)))
  if (schema.allOf) return merged((schema.allOf as Schema[]).map((one) => valuesOf(one, root, name)))
  const isPlain = schema.pattern === undefined || name === "directory" || name === "hash" || name === "model"
  const known = isPlain && (type === "string" || type === undefined) ? byName[name] : undefined
  if (known) return known
  return fc.oneof(...[type ?? "anything"].flat().map((one) => valuesOfType(String(one), schema, root)))
}

function merged(all: fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> {
  return fc.tuple(...all).map((values) => Object.assign({}, ...values) as unknown)
}

function valuesOfType(type: string, schema: Schema, root: Schema): fc.Arbitrary<unknown> {
  switch (type) {
    case "null":
      return fc.constant(null)
    case "boolean":
      return fc.boolean()
    case "integer":
    case "number":
      return numbersOf(type, schema)
    case "string":
      return textsOf(schema)
    case "array":
      return arraysOf(schema, root)
    case "object":
      return objectsOf(schema, root)
    default:
      return oddValue
  }
}

function numbersOf(type: string, schema: Schema): fc.Arbitrary<number> {
  const above = schema.exclusiveMinimum === undefined ? 0 : Number(schema.exclusiveMinimum) + 1
  const min = Number(schema.minimum ?? above)
  const max = Number(schema.maximum ?? 1e9)
  const small = fc.integer({ min, max: Math.min(max, min + 20) })
  const edge = fc.constantFrom(min, max)
  return type === "integer" ? fc.oneof(small, edge) : fc.oneof(small, fc.constant(min + 0.5))
}

function textsOf({ pattern, minLength = 0, maxLength = 30_000 }: Schema): fc.Arbitrary<string> {
  if (typeof pattern === "string") {
    return fc.stringMatching(new RegExp(pattern)).filter((text) => text.length <= Number(maxLength))
  }
  const fits = oddTexts.filter((text) => text.length >= Number(minLength) && text.length <= Number(maxLength))
  const plain = fc.string({ minLength: Number(minLength), maxLength: Math.min(12, Number(maxLength)) })
  return fc.oneof({ weight: 2, arbitrary: plain }, { weight: 1, arbitrary: fc.constantFrom(...fits) })
}

function arraysOf(schema: Schema, root: Schema): fc.Arbitrary<unknown> {
  const { minItems = 0, prefixItems } = schema
  if (Array.isArray(prefixItems))
    return fc.tuple(...(prefixItems as Schema[]).map((one) => valuesOf(one, root)))
  const items = valuesOf((schema.items ?? {}) as Schema, root)
  return fc.array(items, { minLength: Number(minItems), maxLength: Math.max(3, Number(minItems)) })
}

function objectsOf(schema: Schema, root: Schema): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const required = (schema.required ?? []) as string[]
  const fields = properties.map(([name, one]): fc.Arbitrary<[string, unknown] | undefined> => {
    const field = valuesOf(one, root, name).map((value): [string, unknown] => [name, value])
    return required.includes(name) ? field : sometimes(field)
  })
  const rest = schema.additionalProperties
  const more =
    typeof rest === "object"
      ? fc.dictionary(
          fc.constantFrom("edit", "bash", "*", "x", "constructor"),
          valuesOf(rest as Schema, root),
          { maxKeys: 2 },
        )
      : fc.constant({})
  return fc.tuple(fc.tuple(...fields), more).map(([known, others]) => {
    const kept = known.filter((one) => one !== undefined)
    return { ...Object.fromEntries(kept), ...others }
  })
}

/** Usually absent: a value with all optional fields is usually refused. */
export function sometimes<T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: values })
}

/** Makes one thing wrong somewhere in a value. */
export function broken(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const steps = fc.array(fc.nat(20), { minLength: 1, maxLength: 4 })
  const how = fc.constantFrom("replace", "remove", "add", "wrap")
  return fc
    .tuple(values, steps, how, oddValue)
    .map(([value, path, kind, odd]) => breakAt(value, { path, kind, odd }))
}

function breakAt(
  value: unknown,
  { path, kind, odd }: { path: readonly number[]; kind: string; odd: unknown },
): unknown {
  if (kind === "wrap") return [value]
  if (typeof value !== "object" || value === null || Array.isArray(value)) return odd
  const names = Object.keys(value)
  const [step = 0, ...rest] = path
  const name = names[step % Math.max(1, names.length)]
  const copy: Record<string, unknown> = { ...value }
  if (kind === "add" || name === undefined) copy[["odd", "constructor", "toString", "id"][step % 4]!] = odd
  else if (kind === "remove") delete copy[name]
  else copy[name] = rest.length > 0 ? breakAt(copy[name], { path: rest, kind, odd }) : odd
  return copy
}
