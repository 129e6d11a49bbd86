/**
 * A plain `node:http` server that only relays: `POST /stream` pipes the bytes of the model's stream to the caller, `POST /turn`
 * answers when that stream has ended. `POST /keep` keeps a body, which any GET is answered with.
 */
import { once } from "node:events"
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { answerParent } from "../child.ts"

const [baseURL] = process.argv.slice(2) as [string]
const agent = new Agent({ keepAlive: true })
let kept = Buffer.from("{}")

const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, (incoming, response) => {
  relay(incoming, response).catch((error) => {
    process.stderr.write(`${error}\n`)
    response.destroy()
  })
})
server.listen(0, "127.0.0.1")
await once(server, "listening")

const handlers = { url: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
export type RelayHandlers = typeof handlers
answerParent(handlers)

async function relay(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const bytes of incoming) chunks.push(bytes as Buffer)
  if (incoming.method === "GET") {
    response.writeHead(200, { "content-type": "application/json" }).end(kept)
    return
  }
  if (incoming.url === "/keep") {
    kept = Buffer.concat(chunks)
    response.writeHead(204).end()
    return
  }
  const { text } = JSON.parse(Buffer.concat(chunks).toString()) as { text: string }
  const stream = await askModel(text)
  if (incoming.url === "/stream") {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.flushHeaders()
    stream.pipe(response)
    return
  }
  let bytesCount = 0
  for await (const bytes of stream) bytesCount += (bytes as Buffer).length
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ bytesCount }))
}

async function askModel(text: string): Promise<IncomingMessage> {
  const asked = request(`${baseURL}/chat/completions`, {
    method: "POST",
    agent,
    headers: { "content-type": "application/json" },
  })
  asked.end(JSON.stringify({ model: "m1", stream: true, messages: [{ role: "user", content: text }] }))
  const [stream] = (await once(asked, "response")) as [IncomingMessage]
  return stream
}
