import { connect } from "node:net"
import { expect, test } from "vitest"
import { createClient } from "../../src/client/index.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { home, type Serving } from "./program-process.ts"

/** Sends one request on a new connection. Resolves with the status line of the answer. */
function send(server: Serving, request: { method: string; path: string; body?: string }): Promise<string> {
  const { method, path, body = "" } = request
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, "127.0.0.1")
    socket.setEncoding("utf8").on("error", reject)
    socket.once("data", (text) => {
      resolve(String(text).split("\r\n")[0]!)
      socket.destroy()
    })
    socket.write(
      [
        `${method} ${path} HTTP/1.1`,
        `host: 127.0.0.1:${server.port}`,
        `authorization: Bearer ${server.token}`,
        "content-type: application/json",
        `content-length: ${Buffer.byteLength(body)}`,
        "connection: close",
        "",
        body,
      ].join("\r\n"),
    )
  })
}

test("a health check is answered while three hundred clients connect and send prompts at once", async () => {
  await using model = await startModelServer()
  await using at = await home()
  await at.config({ ...model.config(), title: false })
  const server = await at.serve()
  const client = createClient({ baseUrl: server.url, token: server.token })
  // The first turn of a process loads the provider's package.
  await client.session((await client.sessions.create()).id).ask({ text: "say 5" })
  const ids: string[] = []
  for (let i = 0; i < 300; i++) ids.push((await client.sessions.create()).id)
  const order: string[] = []
  const note = (name: string) => (status: string) => {
    order.push(name)
    return status
  }
  const prompts = ids.map((id) =>
    send(server, { method: "POST", path: `/sessions/${id}/prompt`, body: '{"text":"say 5"}' }).then(
      note("prompt"),
    ),
  )
  const health = send(server, { method: "GET", path: "/healthz" }).then(note("health"))
  expect(await health).toBe("HTTP/1.1 200 OK")
  const statuses = new Set(await Promise.all(prompts))
  expect([...statuses]).toEqual(["HTTP/1.1 202 Accepted"])
  // The clients before it were accepted first. Without a pace, nearly all of their prompts would be answered first too.
  expect(order.indexOf("health")).toBeLessThan(150)
})
