import { InboxItem, parseOrInvalid } from "../protocol/index.ts"
import { cleanDeep } from "../session/clean-text.ts"
import { Commit } from "./commit.ts"

/** A commit that is well formed and holds no text that a store cannot keep, or `invalid`. */
export function prepareCommit(commit: Commit): Commit {
  return cleanDeep(parseOrInvalid(Commit, commit, "The commit"))
}

export function prepareItem(item: InboxItem): InboxItem {
  return cleanDeep(parseOrInvalid(InboxItem, item, "The inbox item"))
}

/** JSON with sorted keys: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  )
}
