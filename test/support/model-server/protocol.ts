import type { AnswerCall, PlainAnswer, ProtocolName } from "./answer.ts"

/** An answer as server-sent events. Only `deltas` count for `afterDeltas` and delays. */
export interface Frames {
  head: string
  deltas: string[]
  /** The finish and the events after it. */
  tail: string
}

export interface FrameOptions {
  includeUsage: boolean
  /** Gives an id to a call that has none. */
  callID: () => string
}

/** The differences between the two protocols. */
export interface WireProtocol {
  name: ProtocolName
  frames(answer: PlainAnswer, options: FrameOptions): Frames
  /** The answer to a request without `stream`. */
  whole(answer: PlainAnswer, options: FrameOptions): object
  /** The body of an answer with that status. */
  refusal(status: number): object
  contextLength: object
  malformed: string
  errorEvent: string
}

/** The deltas of a text: as given, or its words, or pieces of `chunk` characters. */
export function deltasOf(text: string | string[] | undefined, chunk?: number): string[] {
  if (text === undefined || text === "") return []
  if (typeof text !== "string") return text
  if (chunk === undefined) return text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? []
  return pieces(text, chunk)
}

export function inputDeltas(call: AnswerCall, chunk = 24): string[] {
  return pieces(inputText(call), chunk)
}

export function inputText({ input }: AnswerCall): string {
  return typeof input === "string" ? input : JSON.stringify(input)
}

function pieces(text: string, length: number): string[] {
  const out: string[] = []
  for (let i = 0; i < text.length; i += length) out.push(text.slice(i, i + length))
  return out
}

export function joined(text: string | string[] | undefined): string {
  return typeof text === "string" ? text : (text ?? []).join("")
}

/** The usage of the answer, with plausible values for missing counts. */
export function usageOf({ text, reasoning, calls, chunk, usage }: PlainAnswer) {
  return {
    input: usage?.input ?? 10,
    output: usage?.output ?? deltasOf(text, chunk).length + (calls?.length ?? 0) * 10,
    reasoning: usage?.reasoning ?? deltasOf(reasoning, chunk).length,
    cache: { read: usage?.cache?.read ?? 0, write: usage?.cache?.write ?? 0 },
  }
}

/** The finish reason in the protocol's words, or the answer's own. */
export function finishOf({ finish, calls }: PlainAnswer): string {
  return finish ?? (calls?.length ? "tool-calls" : "stop")
}
