import { isMarked } from "./marks.ts"

/** The format of a stream's frames. */
export type StreamKind = "relay" | "rows" | "events" | "opencode"

/** The meaning of a frame for a reader of the answer's text. */
export interface Seen {
  /** The new text. */
  text?: string
  /** From now on the reader sees everything. */
  isReady?: boolean
}

interface Frame {
  type?: string
  properties?: { sessionID?: string; offset?: number; delta?: string; part?: TextPart; code?: string }
  /** A frame with rows. */
  offset?: number
  text?: string
  part?: TextPart
  /** A frame of the relay. */
  choices?: { delta?: { content?: string } }[]
}

interface TextPart {
  sessionID?: string
  type: string
  text?: string
}

/** Follows the text of a session's only answer, in any frame format. */
export class StreamText {
  readonly #kind: StreamKind
  readonly #sessionID: string | undefined
  #length = 0

  constructor(kind: StreamKind, sessionID?: string) {
    this.#kind = kind
    this.#sessionID = sessionID
  }

  see(data: string): Seen {
    if (data === "[DONE]") return {}
    const frame = JSON.parse(data) as Frame
    if (this.#kind === "relay") return { text: frame.choices?.[0]?.delta?.content ?? "" }
    switch (frame.type) {
      case "synced":
        return { isReady: true }
      case "server.connected":
        return { isReady: this.#kind === "opencode" }
      case "lagged":
      case "error":
        throw new Error(`The stream said ${data}`)
      case "message.part.delta": {
        const { sessionID, offset = this.#length, delta = "" } = frame.properties!
        return sessionID === this.#sessionID ? this.#at(offset, delta) : {}
      }
      case "piece":
        return this.#at(frame.offset!, frame.text!)
      case "part":
        return this.#whole(frame.part!)
      case "message.part.updated":
        return this.#whole(frame.properties!.part!)
      default:
        return {}
    }
  }

  #whole({ type, text, sessionID }: TextPart): Seen {
    const isOurs = type === "text" && sessionID === this.#sessionID && text !== undefined
    return isOurs && isMarked(text) ? this.#at(0, text) : {}
  }

  #at(offset: number, text: string): Seen {
    if (offset > this.#length) throw new Error(`Text at ${offset} came after ${this.#length}.`)
    const fresh = text.slice(this.#length - offset)
    this.#length += fresh.length
    return { text: fresh }
  }
}
