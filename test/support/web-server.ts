import { createServer, type RequestListener } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import type { SelfSigned } from "./self-signed.ts"

export interface WebServer extends AsyncDisposable {
  port: number
  /** The address without a slash at the end. */
  url: string
  /** How many connections are open. */
  connections(): number
}

/** A server on loopback that ends with its scope, with all its connections. */
export async function webServer(listener: RequestListener, identity?: SelfSigned): Promise<WebServer> {
  const server = identity ? createTlsServer(identity, listener) : createServer(listener)
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `${identity ? "https" : "http"}://127.0.0.1:${port}`,
    connections: () => sockets.size,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
