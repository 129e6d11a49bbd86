import type { z } from "zod"
import { PermissionID, SessionID, StemmaError } from "../../../protocol/index.ts"
import { storable } from "../../../stores/prepare.ts"

/** Names an argument in error texts. */
export interface Argument {
  /** The call, such as `sessions.create`. */
  call: string
  /** The argument, such as `options` or `session id`. */
  name: string
  /** The names of the options that the call has. */
  known?: readonly string[]
}

/**
 * Parses a value with a schema and returns a copy, so that later changes of the caller's object have no effect. Throws
 * `invalid`, with the name of the argument, for a value that does not match or whose properties throw when they are read.
 */
export function checkArgument<T>(schema: z.ZodType<T>, value: unknown, argument: Argument): T {
  const { data, issues } = read(() => parse(schema, value), argument)
  if (issues) throw refused(issues, argument)
  return data
}

/** Like `checkArgument`, and refuses a value that is no plain object, which a schema of optional fields would accept. */
export function checkOptions<T>(schema: z.ZodType<T>, value: unknown, argument: Argument): T {
  const isObject = read(() => Object.prototype.toString.call(value) === "[object Object]", argument)
  if (isObject) return checkArgument(schema, value, argument)
  throw wrongArgument(argument, "expected an object")
}

export function checkSessionID(value: unknown, call: string): string {
  return checkArgument(SessionID, value, { call, name: "session id" })
}

export function checkPermissionID(value: unknown, call: string): string {
  return checkArgument(PermissionID, value, { call, name: "permission id" })
}

export function wrongArgument({ call, name }: Argument, message: string): StemmaError {
  return new StemmaError("invalid", `Wrong ${name} for ${call}: ${sentence(message)}`, {
    details: { call, argument: name },
  })
}

/** A deep copy of JSON data. zod passes such data through without copying it. */
export function ownCopy<T>(value: T, argument: Argument): T {
  try {
    return storable(value)
  } catch (error) {
    throw wrongArgument(argument, (error as Error).message)
  }
}

/** Runs `read` at once. The returned function gives its result, or throws its error. */
export function readNow<T>(read: () => T): () => T {
  try {
    const value = read()
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}

/** Reads the issues at once: zod builds their messages lazily, and reads the value again to do so. */
function parse<T>(schema: z.ZodType<T>, value: unknown) {
  const { success, data, error } = schema.safeParse(value)
  return success ? { data } : { issues: error.issues }
}

function read<T>(work: () => T, argument: Argument): T {
  try {
    return work()
  } catch (error) {
    if (StemmaError.is(error)) throw error
    const reason = error instanceof Error ? error.message : "reading it throws"
    throw wrongArgument(argument, `it cannot be read (${short(reason)}); give plain values`)
  }
}

function refused(issues: readonly z.core.$ZodIssue[], argument: Argument): StemmaError {
  // A misspelt option also makes the right one missing, so the unknown name is reported first.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!
  const path = short(issue.path.map(String).join("."))
  const field = path === "" ? argument : { ...argument, name: fieldName(argument, path) }
  if (issue.code !== "unrecognized_keys") return wrongArgument(field, issue.message)
  const names = short(issue.keys.join(", "))
  const known = path === "" ? argument.known : undefined
  if (known === undefined) return wrongArgument(field, `there is no ${names} in it`)
  return new StemmaError(
    "invalid",
    `${argument.call} has no option ${names}. Its options are: ${known.join(", ")}.`,
    { details: { call: argument.call, argument: names } },
  )
}

/** Names a field of an argument: `option files`, or `0.text in the prompt`. */
function fieldName({ name }: Argument, path: string): string {
  if (name === "options") return `option ${path}`
  return name.startsWith("option ") ? `${name}.${path}` : `${path} in the ${name}`
}

function sentence(message: string): string {
  const text = message.replace(/^Invalid (input|option): /, "").replace(", received undefined", "")
  return text.endsWith(".") ? text : `${text}.`
}

const shownMax = 80

function short(text: string): string {
  return text.length <= shownMax ? text : `${text.slice(0, shownMax)}…`
}
