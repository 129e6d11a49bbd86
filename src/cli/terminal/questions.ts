import { createInterface } from "node:readline/promises"
import type { PermissionReply, PermissionRequest } from "../../protocol/index.ts"
import { printableLine, printableText, type Terminal } from "./terminal.ts"

export interface Answer {
  reply: PermissionReply
  feedback?: string
}

const diffCharactersMax = 4000

/** Asks a person on the terminal, one question at a time. */
export class Questions {
  readonly #terminal: Terminal
  readonly #open = new Map<string, AbortController>()
  #queue: Promise<unknown> = Promise.resolve()

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /** Undefined if the question was answered elsewhere, is already asked, or no person is left to answer. */
  async ask(request: PermissionRequest): Promise<Answer | undefined> {
    if (this.#open.has(request.id)) return undefined
    const over = new AbortController()
    this.#open.set(request.id, over)
    const answer = this.#queue.then(() => this.#askNow(request, over.signal))
    this.#queue = answer.catch(() => {})
    return answer
  }

  /** Withdraws a question that was answered elsewhere. */
  drop(permissionID: string): void {
    this.#open.get(permissionID)?.abort()
  }

  close(): void {
    for (const over of this.#open.values()) over.abort()
  }

  async #askNow(request: PermissionRequest, signal: AbortSignal): Promise<Answer | undefined> {
    if (signal.aborted) return undefined
    const { input, error } = this.#terminal
    const { permission, patterns, always, metadata, path = [] } = request
    const below = path.length > 1 ? " (asked by a task)" : ""
    error.write(`\n? ${printableLine(`${permission}: ${patterns.join(", ")}`, 1000)}${below}\n`)
    if (typeof metadata.diff === "string") {
      error.write(`${printableText(metadata.diff.slice(0, diffCharactersMax)).trimEnd()}\n`)
      if (metadata.diff.length > diffCharactersMax) error.write("... and more that is not shown.\n")
    }
    const offer = always.length > 0 ? `, a = always for ${printableLine(always.join(", "))}` : ""
    using lines = createInterface({ input, output: error })
    // While a question is open, readline takes Ctrl-C as a key. It must have the same effect as the signal.
    lines.on("SIGINT", () => process.emit("SIGINT"))
    const closed = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)))
    try {
      const typed = lines.question(`Allow this? y = once${offer}, n = no: `, { signal })
      const key = (await Promise.race([typed, closed]))?.trim().toLowerCase()
      if (key === "y" || key === "yes") return { reply: "once" }
      if ((key === "a" || key === "always") && always.length > 0) return { reply: "always" }
      return { reply: "reject" }
    } catch {
      return undefined
    }
  }
}
