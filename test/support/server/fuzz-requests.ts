import fc from "fast-check"
import type { OpenApiDocument, Operation, Parameter } from "../../../src/server/openapi/openapi.ts"
import type { Schema } from "./fuzz-json-schema.ts"
import { broken, oddTexts, oddValue, sometimes, valuesOf } from "./fuzz-values.ts"
import { allOperations } from "./safety-scene.ts"

/** A request before its markers are replaced. */
export interface FuzzRequest {
  method: string
  /** The path as the document writes it. */
  template: string
  path: string
  query: string
  headers: Record<string, string>
  body?: string
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]
const jsonType = "application/json"
const otherTypes = [
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/jsonx",
  "",
  "application/json;charset=latin1",
  "multipart/form-data",
]
const pathTricks = [
  "%00",
  "%2e%2e%2f",
  "..%5c",
  "%ff",
  "%zz",
  "__proto__",
  "-",
  "%20",
  "ses_%f0%9f%98%80",
  "a".repeat(3000),
]
const noJson = [
  "",
  " ",
  "{",
  "[",
  "nul",
  "{]",
  "\ufeff{}",
  '{"a":1,"a":2}',
  '{"a":1}}',
  '"',
  "01",
  "[".repeat(5000),
  "{}{}",
  "NaN",
]

/** Operations that start programs, or that wait before they refuse, are requested less often. */
const costly = /providers|compact|summarize|shell|find/

/** Requests of every kind, to every operation of the document, most of them almost valid. */
export function requestsOf(document: OpenApiDocument): fc.Arbitrary<FuzzRequest> {
  const root = document as unknown as Schema
  const all = allOperations().map((one) => ({
    weight: costly.test(one.path) ? 1 : 3,
    arbitrary: requestsTo(one, root),
  }))
  return fc.oneof(...all)
}

function requestsTo(
  { method, path, operation }: { method: string; path: string; operation: Operation },
  root: Schema,
): fc.Arbitrary<FuzzRequest> {
  const parameters = operation.parameters ?? []
  return fc
    .record({
      method: mostly(fc.constant(method), fc.constantFrom(...methods), 20),
      path: pathsOf(path, parameters, root),
      query: queriesOf(parameters, root),
      body: bodiesOf(operation, root),
      directory: mostly(
        fc.constant(undefined),
        fc.constantFrom("§directory:0", "§directory:2", "relative", "%2Ftmp"),
        20,
      ),
      lastEvent: mostly(fc.constant(undefined), fc.constantFrom("§cursor:0", "nonsense"), 20),
    })
    .map(({ body, directory, lastEvent, ...rest }) => ({
      template: path,
      ...rest,
      ...(body?.text !== undefined && rest.method !== "GET" && rest.method !== "HEAD" && { body: body.text }),
      headers: {
        accept: "application/json",
        ...(body?.type !== undefined && { "content-type": body.type }),
        ...(directory !== undefined && { "x-opencode-directory": directory }),
        ...(lastEvent !== undefined && { "last-event-id": lastEvent }),
      },
    }))
}

/** One case in `outOf` uses `other`. */
function mostly<T, U>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<U>, outOf: number): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: outOf - 1, arbitrary: usual }, { weight: 1, arbitrary: other })
}

function pathsOf(path: string, parameters: readonly Parameter[], root: Schema): fc.Arbitrary<string> {
  const own = parameters.filter((one) => one.in === "path")
  const values = own.map(({ name, schema }) => {
    const right = valuesOf(schema, root, name).map((value) => encoded(String(value)))
    return mostly(right, fc.constantFrom(...pathTricks), 12)
  })
  return fc
    .tuple(...values)
    .map((given) => own.reduce((at, { name }, index) => at.replace(`{${name}}`, () => given[index]!), path))
}

/** Markers are kept; a text that is not well formed is encoded as a browser does it. */
function encoded(text: string): string {
  return /^§\w+:\d+$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}

function queriesOf(parameters: readonly Parameter[], root: Schema): fc.Arbitrary<string> {
  const own = parameters.filter((one) => one.in === "query")
  const pairs = own.map(({ name, schema, required }) => {
    const right = valuesOf(schema, root, name).map((value) => `${name}=${encoded(String(value))}`)
    const wrong = fc.constantFrom(...oddTexts).map((text) => `${name}=${encoded(text)}`)
    const pair = mostly(right, wrong, 8)
    return required ? mostly(pair, fc.constant(undefined), 20) : sometimes(pair)
  })
  const odd = fc.constantFrom(
    "odd=1",
    "__proto__=1",
    "%00=1",
    "&&",
    "=",
    "limit=1&limit=2",
    "a[b]=c",
    "%zz",
    "directory",
  )
  return fc
    .tuple(fc.tuple(...pairs), mostly(fc.constant(undefined), odd, 12))
    .map(([given, more]) => [...given, more].filter((one) => one !== undefined).join("&"))
}

function bodiesOf(
  { operationId, requestBody }: Operation,
  root: Schema,
): fc.Arbitrary<{ text?: string; type?: string } | undefined> {
  if (!requestBody) return mostly(fc.constant(undefined), fc.constant({ text: "{}", type: jsonType }), 20)
  const schema = requestBody.content[jsonType]!.schema as Schema
  const right = valuesOf(schema, root)
  // A shell gets only one of a few harmless texts, or a value that is not a text.
  const isShell = operationId.endsWith("shell")
  const wrong = isShell ? broken(right).map(harmless) : broken(right)
  const values = fc.oneof(
    { weight: 5, arbitrary: right },
    { weight: 4, arbitrary: wrong },
    { weight: 1, arbitrary: isShell ? oddValue.map(harmless) : oddValue },
  )
  const json = values.map((value) => ({ text: JSON.stringify(value), type: jsonType }))
  const raw = fc.constantFrom(...noJson).map((text) => ({ text, type: jsonType }))
  const typed = fc
    .tuple(values, fc.constantFrom(...otherTypes))
    .map(([value, type]) => ({ text: JSON.stringify(value), type }))
  const without = fc.constant(undefined)
  return fc.oneof(
    { weight: 16, arbitrary: json },
    { weight: 2, arbitrary: raw },
    { weight: 1, arbitrary: typed },
    { weight: 1, arbitrary: without },
  )
}

function harmless(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("command" in value)) return value
  const { command } = value
  return typeof command === "string" && !["true", "echo hi", "exit 3"].includes(command)
    ? { ...value, command: "true" }
    : value
}
