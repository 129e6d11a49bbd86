import { Draw } from "./draw.ts"
import { fillFact } from "./fill-fact.ts"
import { phrasings } from "./phrasings/index.ts"
import {
  type Half,
  halves,
  type Kind,
  kinds,
  type Language,
  languages,
  type Phrasing,
} from "./phrasings/phrasing.ts"
import type { GeneratedSession } from "./session.ts"
import { TurnWriter } from "./turn-writer.ts"
import { Values } from "./values.ts"

export const cycles = 5
export const factsOfKind = 12
const turnsOfCycle = 36
/**
 * More than twice the ledger's budget, even if the newest turns are not hidden. The first cycle has most of the talk.
 */
const noiseTokensOfFirstCycle = 7_400
const noiseTokensOfCycle = 2_300

export interface GenerateOptions {
  seed: number
  sessions: number
  /** The working directory of the sessions. */
  directory: string
  /** Multiplies the amount of small talk, questions and requests of the user; 1 if absent. */
  noise?: number
}

/** Generates sessions of both halves and languages in turn. Each phrasing is used once before any is used again. */
export function* generateSessions({
  seed,
  sessions,
  directory,
  noise = 1,
}: GenerateOptions): Generator<GeneratedSession> {
  const sets = languages.flatMap((language) => halves.map((half) => ({ half, language })))
  for (let i = 0; i < sessions; i++) {
    const { half, language } = sets[i % sets.length]!
    const round = Math.floor(i / sets.length)
    yield generateSession({ seed, half, language, round, directory, noise })
  }
}

interface SessionOptions {
  seed: number
  half: Half
  language: Language
  /** The number of earlier sessions with this half and language. */
  round: number
  directory: string
  noise: number
}

function generateSession({
  seed,
  half,
  language,
  round,
  directory,
  noise,
}: SessionOptions): GeneratedSession {
  const name = `${half}-${language}-${round + 1}`
  const own = seed * 1009 + round * 31 + halves.indexOf(half) * 7 + languages.indexOf(language) * 3
  const draw = new Draw(own)
  const values = new Values({ draw, language, root: directory })
  const writer = new TurnWriter({ half, language, directory, draw: new Draw(own + 500_009), name })
  for (let cycle = 0; cycle < cycles; cycle++) {
    const dealt = kinds.flatMap((kind, at) =>
      factsOfCycle({ seed, half, language, kind, round }, (cycle + at) % cycles),
    )
    writer.beginCycle(turnsOfCycle)
    for (const { kind, id, phrasing } of draw.shuffled(dealt)) {
      writer.plant({ kind, id, fact: fillFact(phrasing, values), cycle: cycle + 1 })
    }
    writer.endCycle({
      tokens: draw.int(38_000, 50_000),
      noiseTokens: noise * (cycle === 0 ? noiseTokensOfFirstCycle : noiseTokensOfCycle),
    })
  }
  return writer.session()
}

interface Deal {
  seed: number
  half: Half
  language: Language
  kind: Kind
  round: number
}

/** The facts of a kind for one cycle: a fifth of those of the session. */
function factsOfCycle({ seed, half, language, kind, round }: Deal, part: number) {
  const all = phrasings[half][kind][language].map((phrasing: Phrasing, at) => {
    return { kind, phrasing, id: `${half}/${kind}/${language}/${at + 1}` }
  })
  const order = new Draw(seed + kinds.indexOf(kind)).shuffled(all)
  const mine = Array.from({ length: factsOfKind }, (_, i) => order[(round * factsOfKind + i) % order.length]!)
  return mine.filter((_, i) => i % cycles === part)
}
