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
import type { ResolvedOptions } from "../options.ts"
import { errorAnswer } from "./errors.ts"
import { type Guard, isLoopback, plainHost } from "./guard.ts"
import type { Bindings } from "./mount.ts"
import { sendUnreadable, unreadableAnswer, unreadableText } from "./unreadable.ts"

export interface Listening {
  url: string
  port: number
  /** Refuses new connections, lets answers that are on their way arrive, and ends what is left then. */
  close(): Promise<void>
}

const foreignTarget = { status: 400, message: "The request names another server than its Host does." }
const unknownExpectation = { status: 417, message: "Send no `Expect`, or `100-continue`." }

type Fetch = (request: Request, env: Bindings) => Promise<Response>

/** How long an answer may take to arrive when the server closes. */
const lastAnswersMs = 500

/** Listens on an address. Throws with what to do if that cannot be, or would be open to everybody. */
export async function listen(
  fetch: Fetch,
  where: { port: number; host: string; options: ResolvedOptions; guard: Guard },
): Promise<Listening> {
  const { options, guard } = where
  const host = plainHost(where.host)
  if (!options.auth && !isLoopback(host)) {
    throw new StemmaError("denied", `Without a token the server listens on loopback only, not on ${host}.`)
  }
  if (host.trim() === "") {
    throw new StemmaError(
      "invalid",
      "The host is empty, which would be every address. Name one, such as 127.0.0.1.",
    )
  }
  if (options.auth && options.token === undefined) {
    throw new StemmaError(
      "invalid",
      "The server needs a token to listen. Give one, or `auth: false` on loopback.",
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
        return unreadableAnswer({ status: 400, message: "The address of the request is none." })
      options.onWarning(error)
      const { status, body } = errorAnswer(error)
      return unreadableAnswer({ status, message: body.message })
    },
  })
  const answers = new WeakMap<Duplex, ServerResponse>()
  const limits: ServerOptions = {
    // The body has a deadline of its own, with an answer that says so.
    requestTimeout: options.bodyTimeoutMs + options.headersTimeoutMs,
    headersTimeout: options.headersTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
    keepAliveTimeout: 10_000,
    noDelay: true,
    // What has none is refused with an answer of ours.
    requireHostHeader: false,
  }
  const server = createServer(limits, (incoming, outgoing) => {
    answers.set(incoming.socket, outgoing)
    if (!isOwnTarget(incoming)) return sendUnreadable(outgoing, foreignTarget)
    listener(incoming, outgoing).catch((error) => {
      options.onWarning(error)
      outgoing.destroy()
    })
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const answer = answers.get(socket)
    // Into an answer that is on its way, nothing else can be said.
    const isAnswering = answer?.headersSent === true && !answer.writableFinished
    if (!socket.writable || error.code === "ECONNRESET" || isAnswering) socket.destroy()
    else socket.end(unreadableText(error.code), () => socket.destroy())
  })
  server.on("checkExpectation", (_, outgoing) => sendUnreadable(outgoing, unknownExpectation))
  return server
}

/** Beside a path, HTTP allows a whole address: it must be that of the Host. */
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
    server.listen({ port, host }, () => {
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
        `Port ${port} is in use. Choose another one, or 0 for any that is free.`,
      )
    case "EACCES":
      return new StemmaError("denied", `Port ${port} may not be used by this user. Choose one above 1023.`)
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new StemmaError("invalid", `${host} is no address of this machine.`)
    default:
      return new StemmaError("unavailable", `The server cannot listen on ${host}:${port}: ${error.message}`)
  }
}
