import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

export interface Asked {
  path: string
  query: Record<string, string>
  atMs: number
}

/** Answers one request. The last one in the list also answers all later requests. */
export type FakeAnswer = (response: ServerResponse, request: IncomingMessage) => void

export interface FakeServer extends AsyncDisposable {
  url: string
  /** Every request so far. */
  asked: Asked[]
  /** How many connections are open. */
  open(): number
}

/** A server with scripted misbehaviour, request by request. */
export async function fakeServer(answers: readonly FakeAnswer[]): Promise<FakeServer> {
  const asked: Asked[] = []
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    const url = new URL(request.url!, "http://localhost")
    const answer = answers[Math.min(asked.length, answers.length - 1)]!
    asked.push({ path: url.pathname, query: Object.fromEntries(url.searchParams), atMs: performance.now() })
    open.add(response)
    response.on("close", () => open.delete(response))
    answer(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    open: () => open.size,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

export interface FakeFrame {
  id?: string
  value: unknown
}

/** Sends frames and leaves the stream open, or cuts it then, or breaks it in the middle of a frame. */
export function stream(frames: readonly FakeFrame[], end: "open" | "cut" | "mid-frame" = "open"): FakeAnswer {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    let text = "retry: 1000\n\n"
    for (const { id, value } of frames) {
      if (id !== undefined) text += `id: ${id}\n`
      text += `data: ${JSON.stringify(value)}\n\n`
    }
    if (end === "mid-frame") text += 'id: never\ndata: {"type": "session.id'
    response.write(text, () => {
      if (end !== "open") setImmediate(() => response.destroy())
    })
  }
}

export function refuse(status: number, body: unknown, headers: Record<string, string> = {}): FakeAnswer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
  }
}

export function json(body: unknown): FakeAnswer {
  return refuse(200, body)
}

export const synced = (cursor: string): FakeFrame => ({
  id: cursor,
  value: { type: "synced", properties: { cursor } },
})
