import { createServer, type ServerOptions, type StemmaServer } from "../../../src/server/index.ts"
import { type RunScene, type RunSceneOptions, runScene } from "../run-scene.ts"

export const token = "a-token-for-tests-0123456789"

export interface HttpScene extends RunScene {
  server: StemmaServer
  url: string
  /** Calls with the token, and JSON. */
  call(path: string, init?: RequestInit & { json?: unknown }): Promise<Response>
  /** Calls and reads the answer as JSON. Fails unless the status is 2xx. */
  json<T = Record<string, unknown>>(path: string, init?: RequestInit & { json?: unknown }): Promise<T>
}

/** A scene with a server on a free port of this machine. */
export async function httpScene(
  options: RunSceneOptions & { server?: ServerOptions } = {},
): Promise<HttpScene> {
  const { server: serverOptions, ...rest } = options
  const scene = await runScene(rest)
  const server = createServer(scene.stemma, { token, drainMs: 200, ...serverOptions })
  const { url } = await server.listen({ port: 0 })
  const call: HttpScene["call"] = (path, { json, ...init } = {}) =>
    fetch(url + path, {
      ...init,
      ...(json !== undefined && { body: JSON.stringify(json), method: init.method ?? "POST" }),
      headers: {
        authorization: `Bearer ${token}`,
        ...(json !== undefined && { "content-type": "application/json" }),
        ...init.headers,
      },
    })
  return {
    ...scene,
    server,
    url,
    call,
    async json<T>(path: string, init?: RequestInit & { json?: unknown }) {
      const response = await call(path, init)
      const text = await response.text()
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
      return JSON.parse(text) as T
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await scene[Symbol.asyncDispose]()
    },
  }
}

export interface Message {
  id?: string
  data: { type: string } & Record<string, unknown>
}

/** The messages of an event stream, until it ends or breaks. */
export async function* messagesOf(response: Response): AsyncGenerator<Message> {
  let text = ""
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let at = text.indexOf("\n\n"); at >= 0; at = text.indexOf("\n\n")) {
        const message = parse(text.slice(0, at))
        text = text.slice(at + 2)
        if (message) yield message
      }
    }
  } catch {
    // A broken stream ends with this error.
  }
}

function parse(block: string): Message | undefined {
  const lines = block.split("\n")
  const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6))
  if (data.length === 0) return undefined
  const id = lines.find((line) => line.startsWith("id: "))?.slice(4)
  return { ...(id !== undefined && { id }), data: JSON.parse(data.join("\n")) as Message["data"] }
}
