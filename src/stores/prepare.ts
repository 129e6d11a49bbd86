import { createHash } from "node:crypto"
import { InboxItem, parseOrInvalid, StemmaError } from "../protocol/index.ts"
import { cleanText } from "../session/text/clean-text.ts"
import { Commit } from "./commit.ts"
import { prepareStreaming } from "./prepare-streaming.ts"

const depthMax = 200

/**
 * Checks a commit and returns a copy that shares no object with the caller's, with NUL and lone surrogates replaced.
 */
export function prepareCommit(commit: Commit): Commit {
  return prepareStreaming(commit) ?? storable(parseOrInvalid(Commit, commit, "The commit"))
}

export function prepareItem(item: InboxItem): InboxItem {
  return storable(parseOrInvalid(InboxItem, item, "The inbox item"))
}

/** A deep copy as JSON would store it, with every text cleaned; `invalid` for values that JSON cannot hold. */
export function storable<T>(value: T, depth = 0): T {
  switch (typeof value) {
    case "string":
      return cleanText(value) as T
    case "number":
      // Adding 0 turns -0 into 0.
      return (Number.isFinite(value) ? value + 0 : null) as T
    case "boolean":
    case "undefined":
      return value
    case "object":
      return value === null ? value : (copyObject(value, depth) as T)
    default:
      throw unstorable(`a ${typeof value}`)
  }
}

function copyObject(value: object, depth: number): unknown {
  if (depth > depthMax) throw unstorable(`something nested more than ${depthMax} deep`)
  if (Array.isArray(value)) return Array.from(value, (entry: unknown) => storable(entry, depth + 1) ?? null)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === "function") return storable(toJSON.call(value) as unknown, depth + 1)
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[name]
    if (inner === undefined) continue
    const key = cleanText(name)
    // An assignment to this name would set the prototype.
    if (key === "__proto__")
      Object.defineProperty(copy, key, { value: storable(inner, depth + 1), ...ownField })
    else copy[key] = storable(inner, depth + 1)
  }
  return copy
}

const ownField = { enumerable: true, configurable: true, writable: true }

function unstorable(what: string): StemmaError {
  return new StemmaError(
    "invalid",
    `The input holds ${what}, which cannot be stored. Give plain objects, lists and values.`,
  )
}

/** A hash of an inbox item without its time: items with the same hash ask for the same. */
export function payloadHash(item: InboxItem): Buffer {
  const { time: _time, ...payload } = item
  return createHash("sha256").update(canonicalJson(payload)).digest()
}

/** JSON with sorted keys: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  )
}
