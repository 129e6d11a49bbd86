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
    const offer = always.length > 0 ? `, a = always (${reachOf(permission, always)})` : ""
    using lines = createInterface({ input, output: error })
    // While a question is open, readline takes Ctrl-C as a key. It must have the same effect as the signal.
    lines.on("SIGINT", () => process.emit("SIGINT"))
    const closed = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)))
    try {
      for (;;) {
        const typed = lines.question(`Allow this? y = once${offer}, n = no: `, { signal })
        const key = (await Promise.race([typed, closed]))?.trim().toLowerCase()
        if (key === "y" || key === "yes") return { reply: "once" }
        if ((key === "a" || key === "always") && always.length > 0) return { reply: "always" }
        // The input is closed, so no other answer can follow.
        if (key === undefined || key === "n" || key === "no") return { reply: "reject" }
        error.write(`Type y, ${always.length > 0 ? "a " : ""}or n, and then Enter.\n`)
      }
    } catch {
      return undefined
    }
  }
}

/** What the answer `always` allows from then on. */
function reachOf(permission: string, always: readonly string[]): string {
  const patterns = always.includes("*") ? "" : ` of ${always.join(", ")}`
  return printableLine(`every later ${permission}${patterns} in this project, in all sessions`, 1000)
}
