import type { PartBody } from "../../src/protocol/index.ts"
import type { Half, Kind, Language, Outcome } from "./phrasings/phrasing.ts"

/** A part without its id, as `session.append` takes it. */
export type NewPart = PartBody extends infer T ? (T extends { id: string } ? Omit<T, "id"> : never) : never

export interface GeneratedMessage {
  role: "user" | "assistant"
  parts: NewPart[]
}

/** Something that a session's ledger must still say after its message is hidden. */
export interface PlantedFact {
  kind: Kind
  /** Which phrasing carried it: `open/file/en/3`. */
  phrasing: string
  cycle: number
  /** The message that says it, counted from the session's first. */
  at: number
  /** All of these near one another; of each list one. */
  keep: readonly (readonly string[])[]
  outcome?: Outcome
  /** What was said or called, for people. */
  source: string
}

/** An entry of a todo list that is not open any more since message `at`. */
export interface ClosedTodo {
  content: string
  at: number
}

/** A sentence or two of the user's that nobody has to keep, in message `at`. */
export interface SaidNoise {
  text: string
  at: number
}

export interface GeneratedSession {
  name: string
  half: Half
  language: Language
  /** The messages of each cycle; a compaction follows each. */
  cycles: GeneratedMessage[][]
  facts: PlantedFact[]
  closed: ClosedTodo[]
  /** What the user says beside the facts, without what is pasted. */
  noise: SaidNoise[]
}
