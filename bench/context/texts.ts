import { Vocabulary } from "../store/vocabulary.ts"

/** This many texts of each kind are made; then they repeat. */
const variety = 2_000

/** Texts of a history: short, so that thousands of messages fit a window of 200,000 tokens. */
export interface Texts {
  prompt(turn: number): string
  answer(turn: number): string
  code(turn: number): string
  path(turn: number): string
}

export function makeTexts(seed: number): Texts {
  const vocabulary = new Vocabulary(seed)
  const list = (make: () => string) => {
    const made = Array.from({ length: variety }, make)
    return (turn: number) => made[turn % variety]!
  }
  return {
    prompt: list(() => vocabulary.prose(15)),
    answer: list(() => vocabulary.prose(30)),
    code: list(() => vocabulary.code(6)),
    path: list(() => vocabulary.path()),
  }
}
