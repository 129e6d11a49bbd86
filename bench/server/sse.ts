import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"

/** How a stream is requested. */
export interface StreamRequest {
  url: string
  token?: string
  /** Sent as JSON by POST; without it the request is a GET. */
  body?: object
}

export interface OpenStream {
  response: IncomingMessage
  close(): void
}

const agent = new Agent({ keepAlive: false })

/** Opens a stream of server-sent events; `take` gets the data of all events that arrived together. */
export async function openStream(
  { url, token, body }: StreamRequest,
  take: (data: string[]) => void,
): Promise<OpenStream> {
  const asked = request(url, {
    agent,
    method: body ? "POST" : "GET",
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body && { "content-type": "application/json" }),
    },
  })
  asked.end(body && JSON.stringify(body))
  const [response] = (await once(asked, "response")) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}.`)
  response.setEncoding("utf8")
  // The caller that closes the stream expects this error.
  response.on("error", () => {})
  asked.on("error", () => {})
  let rest = ""
  response.on("data", (text: string) => {
    const blocks = (rest + text).split("\n\n")
    rest = blocks.pop()!
    const found: string[] = []
    for (const block of blocks) {
      const at = block.startsWith("data: ") ? 0 : block.indexOf("\ndata: ") + 1
      if (at > 0 || block.startsWith("data: ")) found.push(block.slice(at + 6))
    }
    if (found.length > 0) take(found)
  })
  return { response, close: () => asked.destroy() }
}
