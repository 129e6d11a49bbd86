import { createID } from "../../../src/index.ts"
import type { SeenText } from "./seen.ts"

export interface VictimPrompt {
  messageID: string
  text: string
}

/** A session, its prompts, and what was seen of the answers by the processes that died of them. */
export interface Victim {
  number: number
  sessionID: string
  /** The first is long; a second one, if there is one, waits behind it. */
  prompts: [VictimPrompt, ...VictimPrompt[]]
  deaths: number
  seen: SeenText[]
  /** As `seen`, with the time in which the process did not run. */
  seenByClock: SeenText[]
}

export function newVictim(number: number, { hasSecond }: { hasSecond: boolean }): Victim {
  const now = Date.now()
  const prompt = (text: string) => ({ messageID: createID("message", now), text })
  return {
    number,
    sessionID: createID("session", now),
    prompts: [prompt(`work ${number}`), ...(hasSecond ? [prompt(`say second ${number}`)] : [])],
    deaths: 0,
    seen: [],
    seenByClock: [],
  }
}
