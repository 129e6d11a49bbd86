import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { type HostileAnswer, hostileBody, hostileHead } from "./answers.ts"
import { answerEvents } from "./events.ts"

export interface HostileServer extends AsyncDisposable {
  url: string
  /** How many requests have arrived. */
  readonly requests: number
}

/** A model server on loopback. Its first answer is short, then come the hostile answers, then short ones again. */
export async function startHostileServer(
  answer: HostileAnswer,
  { times = 1 }: { times?: number } = {},
): Promise<HostileServer> {
  let requests = 0
  const http = createServer(async (incoming, response) => {
    incoming.resume()
    await once(incoming, "end")
    const isHostile = requests > 0 && requests <= times
    requests++
    const { status, type } = isHostile ? hostileHead(answer) : { status: 200, type: "text/event-stream" }
    response.writeHead(status, { "content-type": type })
    const left = new Promise<void>((resolve) => response.once("close", resolve))
    for (const piece of isHostile ? hostileBody(answer) : shortBody(answer)) {
      if (response.destroyed) return
      if (!response.write(piece)) await Promise.race([once(response, "drain"), left])
    }
    response.end()
  })
  http.on("clientError", (_, socket) => socket.destroy())
  http.listen(0, "127.0.0.1")
  await once(http, "listening")
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    get requests() {
      return requests
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      http.close()
      await once(http, "close")
    },
  }
}

function* shortBody({ api }: HostileAnswer): Generator<string> {
  const events = answerEvents[api]
  yield events.start() + events.text("Done.") + events.finish()
}
