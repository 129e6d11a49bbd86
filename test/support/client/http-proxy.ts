import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  request as send,
} from "node:http"
import type { Socket } from "node:net"

/** Returns true if it answers instead of the server, or if there shall be no answer. */
export type Meddle = (request: IncomingMessage, response: ServerResponse) => boolean

export interface HttpProxy extends AsyncDisposable {
  url: string
  /** Called before each request is passed on. */
  meddle: Meddle
  /** Breaks all connections. */
  cut(): void
}

/** Passes requests on to a server, unless `meddle` handles them. */
export async function httpProxy(target: string): Promise<HttpProxy> {
  const sockets = new Set<Socket>()
  const pass: RequestListener = (request, response) => {
    const { method, headers } = request
    const { host } = new URL(target)
    const far = send(target + request.url, { method, headers: { ...headers, host } }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.on("error", () => response.destroy())
      answer.pipe(response)
    })
    far.on("error", () => response.destroy())
    response.on("close", () => far.destroy())
    request.pipe(far)
  }
  const server = createServer((request, response) => {
    if (!proxy.meddle(request, response)) pass(request, response)
  })
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as { port: number }
  const proxy: HttpProxy = {
    url: `http://127.0.0.1:${port}`,
    meddle: () => false,
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      proxy.cut()
      await closed
    },
  }
  return proxy
}

/** An answer that a proxy gives by itself. */
export function page(status: number): Meddle {
  return (_, response) => {
    response.writeHead(status, { "content-type": "text/html" }).end(`<h1>${status}</h1>`)
    return true
  }
}

/** Applies `meddle` to the first request to a path, and to no later one. */
export function once(path: RegExp, meddle: Meddle): Meddle {
  let isDone = false
  return (request, response) => {
    if (isDone || !path.test(request.url!)) return false
    isDone = true
    return meddle(request, response)
  }
}
