import { z } from "zod"
import type { Store } from "../../../stores/store.ts"
import type { Tool } from "../../../tools/tool.ts"
import type { Timing } from "../../engine.ts"
import { flag, path } from "./call-options.ts"
import { checkOptions, ownCopy, wrongArgument } from "./check.ts"

const call = "openStemma"

const fn = z.custom((value) => typeof value === "function", "expected a function")

const waitMs = z.number("expected milliseconds, from 0 on").min(0, "expected milliseconds, from 0 on")

const timing = z.strictObject({
  retryBaseMs: waitMs.optional(),
  retryMaxMs: waitMs.optional(),
  retriesMax: z.int("expected a whole number").min(0, "expected a whole number from 0 on").optional(),
  retryAfterMaxMs: waitMs.optional(),
  toolGraceMs: waitMs.optional(),
  claimRetryMs: waitMs.optional(),
  slowCommitMs: waitMs.optional(),
  titleGraceMs: waitMs.optional(),
} satisfies Record<keyof Timing, z.ZodType>)

/** The schemas of the options of `openStemma`. Objects with methods (stores, models, tools) are not copied. */
export const openShape = {
  directory: path,
  store: z.custom(isStoreOrOptions, "expected an open store, or how to open one: { path }"),
  config: z.custom(isObject, "expected an object, as in stemma.json").transform(ownConfig),
  models: z.record(z.string(), fn, "expected functions by provider id, such as { mine: (modelID) => model }"),
  tools: z.array(z.unknown(), "expected a list of tools").transform(checkTools),
  recover: flag,
  interactive: flag,
  onPermission: fn,
  env: z.custom(isEnvironment, "expected an object with texts, such as process.env"),
  data: path,
  snapshots: flag,
  fetch: fn,
  clock: z.custom((value) => hasMethods(value, ["now"]), "expected an object with the function now"),
  timing,
  onWarning: fn,
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return false
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === "function")
}

function isEnvironment(value: unknown): boolean {
  if (!isObject(value)) return false
  return Object.values(value as object).every((entry) => entry === undefined || typeof entry === "string")
}

function ownConfig(config: unknown): unknown {
  return ownCopy(config, { call, name: "option config" })
}

const storeMethods = [
  "commit",
  "session",
  "sessions",
  "history",
  "todos",
  "permissions",
  "changes",
  "cursor",
  "watch",
  "search",
  "admit",
  "inbox",
  "claim",
  "renew",
  "release",
  "remove",
  "close",
] as const satisfies (keyof Store)[]

/** True for an open store, false for options to open one. Throws `invalid` for an object with only some methods of a store. */
export function isStore(value: unknown): value is Store {
  if (!hasMethods(value, ["commit"])) return false
  const missing = storeMethods.find((name) => !hasMethods(value, [name]))
  if (missing === undefined) return true
  throw wrongArgument(
    { call, name: "option store" },
    `the store has no function ${missing}; give an open store`,
  )
}

function isStoreOrOptions(value: unknown): boolean {
  return isObject(value) && (isStore(value) || !("commit" in (value as object)))
}

const toolName = "expected a name of 1 to 64 letters, digits, _ and -"

const toolShape = {
  name: z.string(toolName).regex(/^[A-Za-z0-9_-]{1,64}$/, toolName),
  description: z.union([z.string().regex(/\S/), fn], "expected a text that is not blank, or a function"),
  input: z.custom(isSchema, "expected a schema made with zod 4, such as z.object({ city: z.string() })"),
  replay: z.enum(["safe", "never"], "expected safe or never"),
  delegates: flag.optional(),
  writes: z.union([flag, fn], "expected true, false or a function"),
  wants: fn,
  execute: fn,
} satisfies Record<keyof Tool, z.ZodType>

/** A tool may have fields of its own, so it is used as the caller gave it. */
const toolSchema = z.looseObject(toolShape)

function checkTools(tools: readonly unknown[]): readonly Tool[] {
  const names = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    const argument = { call, name: `option tools.${index}` }
    const { name, input } = checkOptions(toolSchema, tool, argument)
    if (names.has(name)) throw wrongArgument(argument, `there are two tools ${name}; give each its own name`)
    names.add(name)
    checkInput(input as z.ZodType, { call, name: `${argument.name}.input` })
  }
  return tools as readonly Tool[]
}

function isSchema(value: unknown): boolean {
  return hasMethods(value, ["safeParse"]) && "_zod" in (value as object)
}

/** Refuses an input schema that has no JSON Schema: every prompt with such a tool would fail. */
function checkInput(input: z.ZodType, argument: { call: string; name: string }): void {
  let type: unknown
  try {
    type = z.toJSONSchema(input, { target: "draft-7", io: "input" }).type
  } catch (error) {
    throw wrongArgument(argument, `a model cannot be told of it: ${(error as Error).message}`)
  }
  if (type === undefined || type === "object") return
  throw wrongArgument(argument, "expected the schema of an object: z.object({ ... })")
}
