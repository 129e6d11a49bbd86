import type { Client, SessionClient } from "../../../src/client/index.ts"
import { createID, type HistoryItem, StemmaError } from "../../../src/index.ts"
import type { Draw } from "../draw.ts"
import { waitMsMax } from "../run-scene.ts"

/** Error codes that a step may cause without a bug. */
const expected = ["conflict", "not_found", "invalid", "denied", "unavailable"]

/** Random operations on a session through its client. */
export class Story {
  readonly #client: Client
  readonly #session: SessionClient
  readonly trace: string[] = []
  readonly forks: string[] = []
  readonly #waiting: Promise<unknown>[] = []

  constructor(client: Client, sessionID: string) {
    this.#client = client
    this.#session = client.session(sessionID)
  }

  async step(draw: Draw): Promise<void> {
    const [name, run] = draw.one(this.#weighted)
    try {
      await run(draw)
      this.trace.push(name)
    } catch (error) {
      if (!StemmaError.is(error) || !expected.includes(error.code)) throw error
      this.trace.push(`${name}: ${error.code}`)
    }
  }

  /** Answers every question until nothing runs any more. */
  async end(): Promise<void> {
    const end = performance.now() + waitMsMax
    for (let quiet = 0; quiet < 3; ) {
      if (performance.now() > end) {
        const { rows } = await this.#session.snapshot({ last: 2 })
        const status = await this.#session.status()
        throw new Error(`The session does not come to rest: ${JSON.stringify([status, rows])}`)
      }
      try {
        await this.#answerAll("once")
        const isQuiet = (await this.#session.status()).type === "idle" && (await this.#isEmpty())
        quiet = isQuiet ? quiet + 1 : 0
      } catch (error) {
        if (!StemmaError.is(error, "unavailable")) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await Promise.all(this.#waiting)
  }

  /** Work that may wait for an answer is awaited at the end, because this story gives the answers. */
  #later(work: Promise<unknown>): void {
    this.#waiting.push(
      work.catch((error) => {
        if (!StemmaError.is(error) || !expected.includes(error.code)) throw error
      }),
    )
    this.#waiting.at(-1)!.catch(() => {})
  }

  async #isEmpty(): Promise<boolean> {
    const { rows } = await this.#session.snapshot({ last: 1 })
    return rows.every((row) => row.type !== "inbox" || row.items.length === 0)
  }

  async #answerAll(reply: "once" | "reject"): Promise<void> {
    for (const { id, sessionID } of await this.#session.questions()) {
      await this.#client
        .session(sessionID)
        .reply({ permissionID: id, reply })
        .catch((error) => {
          if (!StemmaError.is(error, "conflict") && !StemmaError.is(error, "not_found")) throw error
        })
    }
  }

  readonly #prompt = (draw: Draw) =>
    this.#session.prompt({
      messageID: createID("message", Date.now()),
      text: `${draw.one(["say", "say", "list", "work", "wish", "give", "fail"])} ${draw.below(12)} ${draw.below(4)}`,
      delivery: draw.one(["steer", "queue"]),
    })

  readonly #answer = (draw: Draw) => this.#answerAll(draw.chance(70) ? "once" : "reject")

  readonly #revert = async (draw: Draw) => {
    if (draw.chance(70)) await this.#stop()
    const { items } = await this.#session.history({ limit: 6 })
    const { message, parts } = this.#one(items, draw)
    const isAtPart = draw.chance(30) && parts.length > 0
    await this.#session.revert({ messageID: message.id, ...(isAtPart && { partID: draw.one(parts).id }) })
    if (draw.chance(60)) await this.#prompt(draw)
  }

  /** Aborts the run, and waits a little for its end. */
  async #stop(): Promise<void> {
    await this.#session.abort()
    for (let tries = 0; tries < 20 && (await this.#session.status()).type !== "idle"; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  readonly #fork = async (draw: Draw) => {
    const { items } = await this.#session.history({ limit: 6 })
    const isWhole = draw.chance(50)
    const messageID = isWhole ? undefined : this.#one(items, draw).message.id
    const { id } = await this.#session.fork({ messageID })
    this.forks.push(id)
    await this.#client.session(id).prompt({ text: `say ${draw.below(6)}` })
  }

  readonly #append = (draw: Draw) =>
    draw.chance(50)
      ? this.#session.append({ role: "user", text: `say ${draw.below(9)}` })
      : this.#session.append({ role: "assistant", text: "What was said elsewhere 🙂" })

  readonly #weighted: readonly [string, (draw: Draw) => Promise<unknown>][] = [
    ["prompt", this.#prompt],
    ["prompt", this.#prompt],
    ["prompt", this.#prompt],
    ["prompt", this.#prompt],
    ["answer", this.#answer],
    ["answer", this.#answer],
    ["revert", this.#revert],
    ["revert", this.#revert],
    ["unrevert", () => this.#session.unrevert()],
    ["fork", this.#fork],
    ["append", this.#append],
    ["compact", async () => this.#later(this.#session.compact())],
    ["abort", () => this.#session.abort()],
    ["update", (draw) => this.#session.update({ title: `Title ${draw.below(100)}` })],
    ["budget", (draw) => this.#session.setBudget({ budget: draw.chance(50) ? null : 1 + draw.below(5) })],
    ["archive", (draw) => this.#session.archive({ archived: draw.chance(50) })],
  ]

  #one(items: readonly HistoryItem[], draw: Draw): HistoryItem {
    if (items.length === 0) throw new StemmaError("not_found", "There is no message yet.")
    return draw.one(items)
  }
}
