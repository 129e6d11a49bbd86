import { createID } from "../../../src/index.ts"
import type { SeenText } from "./seen.ts"

export interface VictimPrompt {
  messageID: string
  text: string
}

/** A session, its prompts, and the text that the killed processes had delivered. */
export interface Victim {
  number: number
  sessionID: string
  /** The first prompt has a long answer; a second one, if present, waits in the inbox. */
  prompts: [VictimPrompt, ...VictimPrompt[]]
  deaths: number
  seen: SeenText[]
  /** Like `seen`, but also counts time in which the process did not run. */
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
