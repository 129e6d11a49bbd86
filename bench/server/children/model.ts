/**
 * A provider with the protocol of OpenAI. To the prompt `marks 50` it streams this many deltas; `at 200` means this
 * many a second.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { endingOf } from "../../../test/support/model-server/last-user-text.ts"
import { answerParent } from "../child.ts"
import { markText, systemUs } from "../marks.ts"

const envelope = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_800_000_000, model: "m1" }
const chunk = (delta: object, finish: string | null = null) => ({
  ...envelope,
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const [before, after] = data(chunk({ content: "MARK" })).split("MARK") as [string, string]
const head = data(chunk({ role: "assistant", content: "" }))
const usage = { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 }
const tail = `${data(chunk({}, "stop"))}${data({ ...envelope, choices: [], usage })}data: [DONE]\n\n`
const writeCharacters = 16 * 1024

const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, (incoming, response) => {
  serve(incoming, response).catch((error) => {
    if (response.destroyed) return
    process.stderr.write(`${error}\n`)
    response.destroy()
  })
})
server.listen(0, "127.0.0.1")
await once(server, "listening")

const handlers = { baseURL: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
export type ModelHandlers = typeof handlers
answerParent(handlers)

async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const bytes of incoming) chunks.push(bytes as Buffer)
  const body = Buffer.concat(chunks)
  const ending = endingOf(body, () => JSON.parse(body.toString()))
  const texts = ending.kind === "user" ? ending.texts : []
  const wanted = texts.map((text) => /^marks (\d+)(?: at (\d+))?$/.exec(text)).find((match) => match !== null)
  if (!wanted) throw new Error(`The model does not know what to do with ${JSON.stringify(texts)}.`)
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(head)
  await writeMarks(response, { count: Number(wanted[1]), perSecond: Number(wanted[2] ?? Infinity) })
  response.end(tail)
}

async function writeMarks(
  response: ServerResponse,
  { count, perSecond }: { count: number; perSecond: number },
): Promise<void> {
  const gone = new AbortController()
  response.once("close", () => gone.abort())
  const { signal } = gone
  const startUs = systemUs()
  for (let index = 0; index < count; ) {
    const due = perSecond === Infinity ? count : Math.ceil(((systemUs() - startUs) / 1e6) * perSecond)
    let text = ""
    while (index < Math.min(due, count) && text.length < writeCharacters) {
      text += before + markText(index++, systemUs()) + after
    }
    if (text !== "" && !response.write(text)) await once(response, "drain", { signal })
    if (signal.aborted) return
    if (index >= due && index < count) await delay(1)
  }
}
