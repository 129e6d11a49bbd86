import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { getRequestListener } from "@hono/node-server"
import { StemmaError } from "../../protocol/index.ts"
import { routes } from "../../protocol/routes/index.ts"
import type { ResolvedOptions } from "../options.ts"
import { badRequestAnswer, badRequestText, sendBadRequest } from "./bad-request.ts"
import { errorAnswer } from "./errors.ts"
import { type Guard, isLoopback, normalizeHost } from "./guard.ts"
import type { Bindings } from "./mount.ts"
import { RequestPace } from "./request-pace.ts"

export interface Listening {
  url: string
  port: number
  /** Refuses new connections, waits shortly for open answers to arrive, then closes all connections. */
  close(): Promise<void>
}

const foreignTarget = {
  status: 400,
  message: "The address in the request line differs from the Host header. Send the same host in both.",
}
const unknownExpectation = {
  status: 417,
  message: "The header `Expect` has an unsupported value. Leave it out, or send `100-continue`.",
}

type Fetch = (request: Request, env: Bindings) => Promise<Response>

/** Monitors call these paths. They are answered at once, however many other requests wait. */
const urgentPaths: ReadonlySet<string> = new Set([
  ...Object.values(routes.server).map(({ path }) => path),
  "/global/health",
])

/** How many connections may wait to be accepted. With Node's 511, clients of a crowd would have to try again, after seconds. */
const backlog = 4096

/** How long open answers may take to arrive when the server closes. */
const lastAnswersMs = 500

/** Listens on an address. Throws if the address cannot be used, or if the server would be open to everyone. */
export async function listen(
  fetch: Fetch,
  where: { port: number; host: string; options: ResolvedOptions; guard: Guard },
): Promise<Listening> {
  const { options, guard } = where
  const host = normalizeHost(where.host)
  if (!options.auth && !isLoopback(host)) {
    throw new StemmaError(
      "denied",
      `Without a token the server can listen only on a loopback address, not on ${host}.`,
    )
  }
  if (host.trim() === "") {
    throw new StemmaError(
      "invalid",
      "The host is empty, which means every address. Name one, such as 127.0.0.1.",
    )
  }
  if (options.auth && options.token === undefined) {
    throw new StemmaError(
      "invalid",
      "The server needs a token to listen. Set `token`, or `auth: false` on a loopback address.",
    )
  }
  const server = createNodeServer(fetch, options)
  const port = await bind(server, { port: where.port, host })
  guard.address = { host, port }
  const name = host.includes(":") ? `[${host}]` : host
  return {
    url: `http://${name === "0.0.0.0" || name === "[::]" ? "localhost" : name}:${port}`,
    port,
    close: () => close(server),
  }
}

function createNodeServer(fetch: Fetch, options: ResolvedOptions): Server {
  const listener = getRequestListener(fetch as Parameters<typeof getRequestListener>[0], {
    overrideGlobalObjects: false,
    errorHandler(error) {
      if ((error as Error).name === "RequestError")
        return badRequestAnswer({ status: 400, message: "The address of the request is not valid." })
      options.onWarning(error)
      const { status, body } = errorAnswer(error)
      return badRequestAnswer({ status, message: body.message })
    },
  })
  const answers = new WeakMap<Duplex, ServerResponse>()
  const limits: ServerOptions = {
    // The body has its own timeout, with an answer that explains it.
    requestTimeout: options.bodyTimeoutMs + options.headersTimeoutMs,
    headersTimeout: options.headersTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
    keepAliveTimeout: 10_000,
    noDelay: true,
    // A request without a Host is refused by the guard, with a proper answer.
    requireHostHeader: false,
  }
  const pace = new RequestPace()
  const server = createServer(limits, (incoming, outgoing) => {
    answers.set(incoming.socket, outgoing)
    if (!isOwnTarget(incoming)) return sendBadRequest(outgoing, foreignTarget)
    const begin = () => {
      // The client has gone while its request was waiting.
      if (outgoing.destroyed) return
      listener(incoming, outgoing).catch((error) => {
        options.onWarning(error)
        outgoing.destroy()
      })
    }
    if (urgentPaths.has(incoming.url ?? "")) begin()
    else pace.run(begin)
  })
  server.on("connection", () => pace.arrived())
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const answer = answers.get(socket)
    // While an answer is being sent, no other answer can be written to the connection.
    const isAnswering = answer?.headersSent === true && !answer.writableFinished
    if (!socket.writable || error.code === "ECONNRESET" || isAnswering) socket.destroy()
    else socket.end(badRequestText(error.code), () => socket.destroy())
  })
  server.on("checkExpectation", (_, outgoing) => sendBadRequest(outgoing, unknownExpectation))
  return server
}

/** A request line may contain a whole address instead of a path. Its host must be the Host header. */
function isOwnTarget({ url = "", headers }: IncomingMessage): boolean {
  return url.startsWith("/") || URL.parse(url)?.host === headers.host?.toLowerCase()
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const endMs = performance.now() + lastAnswersMs
  let isClosed = false
  const done = closed.then(() => {
    isClosed = true
  })
  while (!isClosed && performance.now() < endMs) {
    server.closeIdleConnections()
    await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 10))])
  }
  server.closeAllConnections()
  await done
}

async function bind(server: Server, { port, host }: { port: number; host: string }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(bindError(error, { port, host }))
    server.once("error", fail)
    server.listen({ port, host, backlog }, () => {
      server.off("error", fail)
      resolve()
    })
  })
  return (server.address() as AddressInfo).port
}

function bindError(
  error: NodeJS.ErrnoException,
  { port, host }: { port: number; host: string },
): StemmaError {
  switch (error.code) {
    case "EADDRINUSE":
      return new StemmaError(
        "conflict",
        `Port ${port} is in use. Choose another one, or 0 for any free port.`,
      )
    case "EACCES":
      return new StemmaError("denied", `This user may not use port ${port}. Choose a port above 1023.`)
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new StemmaError("invalid", `${host} is not an address of this machine. Choose another host.`)
    default:
      return new StemmaError("unavailable", `The server cannot listen on ${host}:${port}: ${error.message}`)
  }
}
