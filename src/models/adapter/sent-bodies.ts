import { randomBytes } from "node:crypto"
import { ModelError } from "../model-error.ts"

/** The messages of a request as they were written, without the brackets around them. */
export interface SentMessages {
  /** What was written for an earlier request, and stands at the beginning of this one. */
  before: Uint8Array | undefined
  /** Given all of them, once they are written. */
  onWritten(messages: Uint8Array): void
}

export interface Marks {
  /** The text of a user message that stands where the earlier messages belong. */
  first: string
  /** The text of a user message behind the last one that is to be kept. */
  last: string
  /** The request has been sent, or never will be. */
  release(): void
}

const comma = Buffer.from(",")

/**
 * A long conversation is sent whole with each request, and to write it takes longer than all else that a step does. So
 * what was written once is kept: the package is given two short messages as marks in its place, and the text is put in
 * where they stand on its way out. Only for interfaces that write each message by itself.
 */
export class SentBodies {
  /** Nothing that a person or a model writes can hold it. */
  readonly #secret = randomBytes(16).toString("hex")
  readonly #pending = new Map<number, SentMessages>()
  #count = 0
  /** The package writes messages otherwise than was thought. */
  #isOff = false

  get isOff(): boolean {
    return this.#isOff
  }

  mark(sent: SentMessages): Marks {
    const id = this.#count++
    this.#pending.set(id, sent)
    return {
      first: `${this.#secret} first ${id}`,
      last: `${this.#secret} last ${id}`,
      release: () => this.#pending.delete(id),
    }
  }

  /** The body as it is sent: one without marks as it is. */
  complete(body: string): string | Uint8Array {
    if (this.#pending.size === 0 || !body.includes(this.#secret)) return body
    const first = this.#find(body, "first")
    const last = first && this.#find(body, "last")
    const sent = last && first.id === last.id ? this.#pending.get(first.id) : undefined
    if (!sent || !last) {
      this.#isOff = true
      const text = "The request was not written as expected. It is written whole from now on."
      throw new ModelError("network", text)
    }
    const head = Buffer.from(body.slice(0, first.start))
    // Between the marks stands a comma, and one more behind each message.
    const added = Buffer.from(body.slice(first.end + 1, Math.max(first.end + 1, last.start - 1)))
    const tail = Buffer.from(body.slice(last.end))
    const { before } = sent
    const between = before && added.length > 0 ? [before, comma, added] : [before ?? added]
    const whole = Buffer.concat([head, ...between, tail])
    sent.onWritten(whole.subarray(head.length, whole.length - tail.length))
    return whole
  }

  #find(body: string, name: "first" | "last"): { start: number; end: number; id: number } | undefined {
    const begin = `{"role":"user","content":"${this.#secret} ${name} `
    const start = body.indexOf(begin)
    if (start < 0) return undefined
    const end = body.indexOf('"}', start + begin.length)
    return { start, end: end + 2, id: Number(body.slice(start + begin.length, end)) }
  }
}
