import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface SseServer extends AsyncDisposable {
  url: string
  requests: { url: string; headers: NodeJS.Dict<string | string[]>; body: Record<string, unknown> }[]
  /**
   * The next answers: each is a list of values for `data:` lines, a status and a body, or the text of a whole stream.
   */
  answers: (object[] | string | { status: number; body: object })[]
}

/** A server for protocols that the test model server does not speak. */
export async function startSseServer(): Promise<SseServer> {
  const requests: SseServer["requests"] = []
  const answers: SseServer["answers"] = []
  const http = createServer(async (incoming, response) => {
    let text = ""
    for await (const piece of incoming.setEncoding("utf8")) text += piece
    requests.push({ url: incoming.url!, headers: incoming.headers, body: JSON.parse(text) })
    const answer = answers.shift() ?? []
    if (!Array.isArray(answer) && typeof answer !== "string") {
      response
        .writeHead(answer.status, { "content-type": "application/json" })
        .end(JSON.stringify(answer.body))
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    const stream =
      typeof answer === "string"
        ? answer
        : answer.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("")
    response.end(stream)
  })
  http.listen(0, "127.0.0.1")
  await once(http, "listening")
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests,
    answers,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      http.close()
      await once(http, "close")
    },
  }
}
