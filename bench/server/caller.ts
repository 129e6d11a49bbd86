import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"

/** Calls a server, always on the same connection. */
export class Caller {
  readonly #url: string
  readonly #headers: Record<string, string>
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(url: string, token?: string) {
    this.#url = url
    this.#headers = {
      "content-type": "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
  }

  async post(path: string, body: object): Promise<unknown> {
    return this.#send("POST", path, JSON.stringify(body))
  }

  async get(path: string): Promise<unknown> {
    return this.#send("GET", path)
  }

  /** The body as it came, not parsed. */
  async read(path: string): Promise<Buffer> {
    return this.#receive("GET", path)
  }

  close(): void {
    this.#agent.destroy()
  }

  async #send(method: string, path: string, body?: string): Promise<unknown> {
    const text = (await this.#receive(method, path, body)).toString()
    return text === "" ? undefined : JSON.parse(text)
  }

  async #receive(method: string, path: string, body?: string): Promise<Buffer> {
    const asked = request(`${this.#url}${path}`, {
      method,
      agent: this.#agent,
      headers: { ...this.#headers, ...(body !== undefined && { "content-length": Buffer.byteLength(body) }) },
    })
    asked.end(body)
    const [response] = (await once(asked, "response")) as [IncomingMessage]
    const chunks: Buffer[] = []
    response.on("data", (bytes: Buffer) => chunks.push(bytes))
    await once(response, "end")
    const bytes = Buffer.concat(chunks)
    if (response.statusCode! >= 300)
      throw new Error(`${method} ${path} answered ${response.statusCode}: ${bytes.toString()}`)
    return bytes
  }
}
