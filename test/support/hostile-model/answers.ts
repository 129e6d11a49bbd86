import { answerEvents, type HostileApi } from "./events.ts"

/**
 * An answer that tries to fill the memory of its reader. `text`: many text deltas. `event`: one event with a long text.
 * `line`: bytes without an end of line. `arguments`: one call with long arguments in many deltas. `argument-event`: the
 * same arguments in one event. `calls`: many calls. `html`, `json`, `error`: a body that is not an answer.
 */
export type HostileKind =
  | "text"
  | "event"
  | "line"
  | "arguments"
  | "argument-event"
  | "calls"
  | "html"
  | "json"
  | "error"

export interface HostileAnswer {
  api: HostileApi
  kind: HostileKind
  /** Bytes of the body, of the text or of the arguments; the number of calls. */
  size: number
}

const chunk = 64 * 1024
const shortInput = `{"filePath":"short.txt","content":"short"}`

/** The status and content type of the answer. */
export function hostileHead({ kind }: HostileAnswer): { status: number; type: string } {
  switch (kind) {
    case "html":
      return { status: 200, type: "text/html; charset=utf-8" }
    case "json":
      return { status: 200, type: "application/json" }
    case "error":
      return { status: 400, type: "application/json" }
    default:
      return { status: 200, type: "text/event-stream" }
  }
}

/** The pieces of the body, made when they are needed. */
export function* hostileBody({ api, kind, size }: HostileAnswer): Generator<string> {
  const events = answerEvents[api]
  switch (kind) {
    case "html":
      yield "<!doctype html><html><body><p>"
      yield* filler(size)
      yield "</p></body></html>"
      return
    case "json":
    case "error":
      yield '{"error":{"type":"invalid_request_error","message":"'
      yield* filler(size)
      yield '"}}'
      return
    case "line":
      yield events.start()
      yield 'data: {"a":"'
      yield* filler(size)
      return
  }
  yield events.start()
  if (kind === "text") for (const text of filler(size, 4096)) yield events.text(text)
  if (kind === "event") yield events.text("x".repeat(size))
  if (kind === "arguments" || kind === "argument-event") yield* longCall({ api, kind, size })
  if (kind === "calls") {
    for (let n = 0; n < size; n++)
      yield events.callStart(n) + events.callInput(n, shortInput) + events.callEnd(n, shortInput)
  }
  yield events.finish()
}

function* longCall({ api, kind, size }: HostileAnswer): Generator<string> {
  const events = answerEvents[api]
  yield events.callStart(0)
  const input = `{"filePath":"long.txt","content":"${"y".repeat(size)}"}`
  if (kind === "argument-event") yield events.callInput(0, input)
  else for (let at = 0; at < input.length; at += 4096) yield events.callInput(0, input.slice(at, at + 4096))
  yield events.callEnd(0, input)
}

function* filler(size: number, length = chunk): Generator<string> {
  const piece = "word ".repeat(Math.ceil(length / 5)).slice(0, length)
  for (let left = size; left > 0; left -= length) yield left >= length ? piece : piece.slice(0, left)
}
