/**
 * An id names a thing; positions give the order. An id made by Stemma is a prefix and a lower-case ULID. For clients that sort by
 * id, the ids of a session ascend with the positions, except that a prompt has its id before it has its position.
 */
export const idPrefix = {
  session: "ses",
  message: "msg",
  part: "prt",
  segment: "seg",
  permission: "per",
} as const

export type IDKind = keyof typeof idPrefix

/** Foreign ids (`ses-1708300000000`, `msg-11`) are accepted unchanged, so that imported sessions keep their ids. */
export function idPattern(kind: IDKind): RegExp {
  return new RegExp(`^${idPrefix[kind]}[_-][0-9A-Za-z][0-9A-Za-z_-]{0,62}$`)
}
