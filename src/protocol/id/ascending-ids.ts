import { monotonicFactory } from "ulid"
import { type Clock, secureRandom } from "./id.ts"
import { type IDKind, idPrefix } from "./id-prefix.ts"

export type NewID = (kind: IDKind) => string

/**
 * Makes ids of which each is above the one before, also within a millisecond and when the clock goes back. Positions give
 * the order of a history, but clients of other programs sort by id.
 */
export function ascendingIDs(clock: Clock, random: () => number = secureRandom): NewID {
  const next = monotonicFactory(random)
  return (kind) => `${idPrefix[kind]}_${next(clock.now()).toLowerCase()}`
}

/** The ids that one holder of a session's lease makes: above every id of that kind that the session had before. */
export class SessionIDs {
  readonly #newID: NewID
  readonly #highest = new Map<IDKind, string>()

  constructor(newID: NewID) {
    this.#newID = newID
  }

  /** Tells of an id that the session has, of any program's form. Later ids of the kind are above it. */
  startAbove(kind: IDKind, id: string): void {
    if (id > (this.#highest.get(kind) ?? "")) this.#highest.set(kind, id)
  }

  next(kind: IDKind): string {
    const made = this.#newID(kind)
    const highest = this.#highest.get(kind)
    const id =
      highest === undefined || made > highest ? made : (aboveWith(highest, made.slice(-uniqueDigits)) ?? made)
    this.#highest.set(kind, id)
    return id
  }
}

/**
 * Other processes, and prompts that wait in the inbox, may start above the same id. An id therefore ends with random digits
 * of a new one.
 */
const uniqueDigits = 8

function aboveWith(id: string, end: string): string | undefined {
  const above = idAfter(id, end)
  if (above !== undefined) return above
  // A short id of another program has no room for the digits.
  const longer = idAfter(id)
  return longer && longer + end
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const ulidDigits = "0123456789abcdefghjkmnpqrstvwxyz"
const ulidForm = /^[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}$/

/**
 * An id of the same form and length that sorts directly above: the last digit that can grow does, and the digits after it
 * begin again. With `end`, the id ends with these digits, and a digit before them grows. Undefined if no digit can grow.
 */
export function idAfter(id: string, end = ""): string | undefined {
  const alphabet = ulidForm.test(id) ? ulidDigits : digits
  const prefixLength = id.search(/[_-]/) + 1
  const last = id.length - end.length
  for (let at = last - 1; at >= prefixLength; at--) {
    const value = alphabet.indexOf(id[at]!)
    if (value < 0 || value === alphabet.length - 1) continue
    const rest = id.slice(at + 1, last).replaceAll(/[0-9A-Za-z]/g, "0") + end
    const after = `${id.slice(0, at)}${alphabet[value + 1]}${rest}`
    return alphabet === digits || ulidForm.test(after) ? after : undefined
  }
  return undefined
}
