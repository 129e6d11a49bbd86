import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import type { Row } from "../../../src/protocol/index.ts"
import { reduceDelta, reduceRow } from "../../../src/session/replica/reduce.ts"
import { emptyView, viewMessages } from "../../../src/session/replica/view.ts"
import { type HttpScene, token } from "./http-scene.ts"

type Wire = Row | { type: string; properties: Record<string, unknown> }

/**
 * Reads the rows of a session as a replica does, on a connection that it can stop reading. `fetch` would keep reading
 * in the background. A new connection continues with the state of the previous one.
 */
export class RowReader implements Disposable {
  readonly view = emptyView()
  /** How many frames arrived. */
  frames = 0
  isSynced = false
  /** The cursor of the `lagged` frame. */
  laggedAt: string | undefined
  /** The newest `id:`. */
  lastID: string | undefined
  /** Resolves when the connection is closed; true if the answer ended normally. */
  ended: Promise<boolean> = Promise.resolve(true)
  readonly #scene: HttpScene
  readonly #sessionID: string
  readonly #comesBack: boolean
  #response: IncomingMessage | undefined
  #close: (() => void) | undefined
  #isPaused = false

  /** `comesBack`: reconnects after a `lagged` frame, as a client does. */
  constructor(
    scene: HttpScene,
    { sessionID, comesBack = false }: { sessionID: string; comesBack?: boolean },
  ) {
    this.#scene = scene
    this.#sessionID = sessionID
    this.#comesBack = comesBack
  }

  async open(since?: string): Promise<void> {
    const query = since === undefined ? "" : `&since=${encodeURIComponent(since)}`
    const asked = request(`${this.#scene.url}/sessions/${this.#sessionID}/event?format=rows${query}`, {
      agent: false,
      headers: { authorization: `Bearer ${token}` },
    })
    asked.on("error", () => {})
    asked.end()
    this.#close = () => asked.destroy()
    const [response] = (await once(asked, "response")) as [IncomingMessage]
    if (response.statusCode !== 200) throw new Error(`The stream was answered with ${response.statusCode}.`)
    this.#response = response
    this.isSynced = false
    this.laggedAt = undefined
    response.on("error", () => {})
    this.ended = new Promise((resolve) => {
      response.once("close", () => {
        resolve(response.complete)
        if (this.#comesBack && this.laggedAt !== undefined) void this.open(this.laggedAt)
      })
    })
    let rest = ""
    response.setEncoding("utf8").on("data", (text: string) => {
      const blocks = (rest + text).split("\n\n")
      rest = blocks.pop()!
      for (const block of blocks) this.#take(block)
    })
  }

  /** Stops reading. */
  stall(): void {
    this.#isPaused = true
    this.#response!.pause()
  }

  readOn(): void {
    this.#isPaused = false
    this.#response!.resume()
  }

  /** The text of the last message. */
  get text(): string {
    const last = viewMessages(this.view).at(-1)
    return last?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? ""
  }

  [Symbol.dispose](): void {
    this.#close?.()
  }

  #take(block: string): void {
    if (this.#isPaused) throw new Error("A reader that is stalled was given something.")
    let data: string | undefined
    for (const line of block.split("\n")) {
      if (line.startsWith("id: ")) this.lastID = line.slice(4)
      else if (line.startsWith("data: ")) data = line.slice(6)
    }
    if (data === undefined) return
    this.frames++
    const frame = JSON.parse(data) as Wire
    if (!("properties" in frame)) reduceRow(this.view, frame)
    else if (frame.type === "synced") this.isSynced = true
    else if (frame.type === "lagged") this.laggedAt = String(frame.properties.cursor)
    else if (frame.type === "message.part.delta") reduceDelta(this.view, frame.properties as never)
  }
}
