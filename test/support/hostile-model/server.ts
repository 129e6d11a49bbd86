import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { type HostileAnswer, type HostileKind, hostileBody, hostileHead } from "./answers.ts"
import { answerEvents, type HostileApi } from "./events.ts"

const packages: Record<HostileApi, string> = {
  chat: "@ai-sdk/openai-compatible",
  responses: "@ai-sdk/openai",
  anthropic: "@ai-sdk/anthropic",
  google: "@ai-sdk/google",
}

export interface HostileServer extends AsyncDisposable {
  /** The models that have sent their hostile answer, in order, with repetitions. */
  asked: string[]
  /** The `provider` of a config that has each API as a provider. */
  provider: Record<HostileApi, object>
}

/** The model whose answers are short. */
export const shortModel = "short"

/** The name of the model whose first answer is hostile. Its further answers are short. */
export function hostileModel({ api, kind, size }: HostileAnswer): string {
  return `${api}/${kind}-${size}`
}

/** A model server on loopback that speaks all APIs, each at a path of its own. */
export async function startHostileServer(): Promise<HostileServer> {
  const asked: string[] = []
  const http = createServer(async (incoming, response) => {
    const answer = answerTo(await askedModel(incoming))
    const isHostile = answer.kind !== undefined && !asked.includes(hostileModel(answer as HostileAnswer))
    if (answer.kind !== undefined) asked.push(hostileModel(answer as HostileAnswer))
    const { status, type } = isHostile
      ? hostileHead(answer as HostileAnswer)
      : { status: 200, type: "text/event-stream" }
    response.writeHead(status, { "content-type": type })
    const left = new Promise<void>((resolve) => response.once("close", resolve))
    for (const piece of isHostile ? hostileBody(answer as HostileAnswer) : shortBody(answer.api)) {
      if (response.destroyed) return
      if (!response.write(piece)) await Promise.race([once(response, "drain"), left])
    }
    response.end()
  })
  http.on("clientError", (_, socket) => socket.destroy())
  http.listen(0, "127.0.0.1")
  await once(http, "listening")
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  return {
    asked,
    provider: Object.fromEntries(
      Object.entries(packages).map(([api, npm]) => [
        api,
        {
          npm,
          options: {
            baseURL: `${url}/${api}/v1`,
            apiKey: "key-0123456789",
            ...(api === "responses" && { api: "responses" }),
          },
        },
      ]),
    ) as HostileServer["provider"],
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      http.close()
      await once(http, "close")
    },
  }
}

/** The API and the name of the model: `chat/text-1000`. Google has the model in the path, the others in the body. */
async function askedModel(incoming: IncomingMessage): Promise<string> {
  const [, api, , , inPath] = incoming.url!.split("/")
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  // The model is at the start of the body, which may be long.
  const inBody = /"model":"([^"]+)"/.exec(Buffer.concat(chunks).subarray(0, 1000).toString())?.[1]
  return `${api}/${inBody ?? inPath?.split(":")[0]}`
}

function answerTo(model: string): { api: HostileApi; kind?: HostileKind; size?: number } {
  const [api, name] = model.split("/") as [HostileApi, string]
  const match = /^([a-z-]+)-(\d+)$/.exec(name)
  return match ? { api, kind: match[1] as HostileKind, size: Number(match[2]) } : { api }
}

function* shortBody(api: HostileApi): Generator<string> {
  const events = answerEvents[api]
  yield events.start() + events.text("Done.") + events.finish()
}
