import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import type { Session } from "../../../src/protocol/index.ts"
import type { SharedDocument, SharedMessage } from "../../../src/protocol/routes/share-shapes.ts"
import { SharedEvent } from "../../../src/server/share/feed/shared-event.ts"
import { expectShape } from "./expect-shape.ts"
import type { HttpScene } from "./http-scene.ts"

/** Shares a session over HTTP and returns its public path. */
export async function share(
  scene: HttpScene,
  sessionID: string,
  include: { reasoning?: boolean; tools?: boolean } = {},
): Promise<string> {
  const session = await scene.json<Session>(`/sessions/${sessionID}/share`, { json: include })
  return new URL(session.share!.url).pathname
}

/** The public JSON of a share, requested without a token. */
export async function readShared(scene: HttpScene, path: string, query = ""): Promise<SharedDocument> {
  const response = await fetch(`${scene.url}${path}/data${query}`)
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}.`)
  return (await response.json()) as SharedDocument
}

/** Prompts and waits for the answer. */
export async function ask(scene: HttpScene, sessionID: string, text: string): Promise<void> {
  await scene.json(`/sessions/${sessionID}/ask`, { json: { text } })
}

export interface PublicReader extends Disposable {
  /** Every byte that arrived, as text. */
  raw: string
  messages: SharedMessage[]
  title: string
  types: string[]
  cursor: string | undefined
  isSynced: boolean
  status: number
  /** Resolves with true if the stream ended normally. */
  ended: Promise<boolean>
  response: IncomingMessage
}

/** Follows a shared page as its script does, without a token, on its own connection. */
export async function followShared(
  scene: HttpScene,
  path: string,
  options: { since?: string; lastEventID?: string } = {},
): Promise<PublicReader> {
  const query = options.since === undefined ? "" : `?since=${encodeURIComponent(options.since)}`
  const asked = request(`${scene.url}${path}/event${query}`, {
    agent: false,
    headers: options.lastEventID === undefined ? {} : { "last-event-id": options.lastEventID },
  })
  asked.on("error", () => {})
  asked.end()
  const [response] = (await once(asked, "response")) as [IncomingMessage]
  response.on("error", () => {})
  const reader: PublicReader = {
    raw: "",
    messages: [],
    title: "",
    types: [],
    cursor: options.since,
    isSynced: false,
    status: response.statusCode!,
    ended: new Promise((resolve) => response.once("close", () => resolve(response.complete))),
    response,
    [Symbol.dispose]: () => asked.destroy(),
  }
  let rest = ""
  response.setEncoding("utf8").on("data", (text: string) => {
    reader.raw += text
    const blocks = (rest + text).split("\n\n")
    rest = blocks.pop()!
    for (const block of blocks) take(reader, block)
  })
  return reader
}

function take(reader: PublicReader, block: string): void {
  const lines = block.split("\n")
  const data = lines.find((line) => line.startsWith("data: "))
  if (data === undefined) return
  const event = JSON.parse(data.slice(6)) as SharedEvent
  expectShape(SharedEvent, event, "an event of a shared session")
  reader.types.push(event.type)
  reader.isSynced = event.type === "synced"
  if (event.type === "reset") reader.messages = []
  if (event.type === "session") reader.title = event.properties.title
  if (event.type === "message") reader.messages.push(event.properties)
  reader.cursor = lines.find((line) => line.startsWith("id: "))?.slice(4) ?? reader.cursor
}

/** The texts of messages, in order. */
export function textsOf(messages: readonly SharedMessage[]): string[] {
  return messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])))
}

export interface Tag {
  name: string
  attributes: Record<string, string>
}

/**
 * The tags and the text of a page, parsed strictly: anything that is neither a tag with quoted attributes nor text
 * without `<` is an error.
 */
export function parsePage(html: string): { tags: Tag[]; text: string } {
  const tags: Tag[] = []
  let text = ""
  const token = /<!doctype html>|<\/([a-z0-9]+)>|<([a-z0-9]+)((?: [a-z-]+(?:="[^"<>]*")?)*)>|([^<]+)/gy
  let at = 0
  for (; at < html.length; at = token.lastIndex) {
    token.lastIndex = at
    const match = token.exec(html)
    if (!match) throw new Error(`No markup of ours: ${html.slice(at, at + 80)}`)
    if (match[4] !== undefined) text += decode(match[4])
    if (match[2] === undefined) continue
    const attributes = [...match[3]!.matchAll(/ ([a-z-]+)(?:="([^"]*)")?/g)]
    tags.push({
      name: match[2],
      attributes: Object.fromEntries(attributes.map(([, name, value]) => [name!, decode(value ?? "")])),
    })
  }
  return { tags, text }
}

function decode(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}
