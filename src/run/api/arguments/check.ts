import type { z } from "zod"
import { PermissionID, SessionID, StemmaError } from "../../../protocol/index.ts"
import { storable } from "../../../stores/prepare.ts"

/** What is checked, in the words of whoever called. */
export interface Argument {
  /** The call as one writes it, such as `sessions.create`. */
  call: string
  /** The argument: `options`, `session id`. */
  name: string
  /** The options that there are, if it has any. */
  known?: readonly string[]
}

/**
 * The value as the schema reads it, now: a copy, so that whatever becomes of the caller's object later changes nothing.
 * `invalid`, naming the argument, for any other value and for one that cannot be read.
 */
export function checkArgument<T>(schema: z.ZodType<T>, value: unknown, argument: Argument): T {
  const { data, issues } = read(() => parse(schema, value), argument)
  if (issues) throw refused(issues, argument)
  return data
}

/** The same for an object with options. Anything else would be taken for one without any. */
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

/** A copy of data that a schema leaves as it is, shared with the caller. */
export function ownCopy<T>(value: T, argument: Argument): T {
  try {
    return storable(value)
  } catch (error) {
    throw wrongArgument(argument, (error as Error).message)
  }
}

/** Reads at once; what is wrong is thrown by whoever asks for the value. */
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

/** The issues are worded when they are asked for, with another look at the value. */
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
  // A wrong name explains what else is missing.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!
  const path = short(issue.path.map(String).join("."))
  const place = path === "" ? argument : { ...argument, name: placeName(argument, path) }
  if (issue.code !== "unrecognized_keys") return wrongArgument(place, issue.message)
  const names = short(issue.keys.join(", "))
  const known = path === "" ? argument.known : undefined
  if (known === undefined) return wrongArgument(place, `there is no ${names} in it`)
  return new StemmaError(
    "invalid",
    `${argument.call} has no option ${names}. Its options are: ${known.join(", ")}.`,
    { details: { call: argument.call, argument: names } },
  )
}

/** `files` of options, `0.text` of a prompt. */
function placeName({ name }: Argument, path: string): string {
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
