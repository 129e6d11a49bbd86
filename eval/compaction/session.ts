import type { PartBody } from "../../src/protocol/index.ts"
import type { Half, Kind, Language, Outcome } from "./phrasings/phrasing.ts"

/** A part without its id, as `session.append` takes it. */
export type NewPart = PartBody extends infer T ? (T extends { id: string } ? Omit<T, "id"> : never) : never

export interface GeneratedMessage {
  role: "user" | "assistant"
  parts: NewPart[]
}

/** A fact that the ledger must still hold after its message is hidden. */
export interface PlantedFact {
  kind: Kind
  /** The id of its phrasing, such as `open/file/en/3`. */
  phrasing: string
  cycle: number
  /** The index of its message in the session. */
  at: number
  /** One word of each list must be in the ledger, near one another. */
  keep: readonly (readonly string[])[]
  outcome?: Outcome
  /** The text or call, to print for people. */
  source: string
}

/** A todo that message `at` closed. */
export interface ClosedTodo {
  content: string
  at: number
}

/** A sentence or two of the user in message `at` that the ledger need not keep. */
export interface SaidNoise {
  text: string
  at: number
}

export interface GeneratedSession {
  name: string
  half: Half
  language: Language
  /** The messages of each cycle. A compaction follows each cycle. */
  cycles: GeneratedMessage[][]
  facts: PlantedFact[]
  closed: ClosedTodo[]
  /** The user's sentences apart from the facts, without pasted text. */
  noise: SaidNoise[]
}
