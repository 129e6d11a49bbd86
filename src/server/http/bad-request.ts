import { type ServerResponse, STATUS_CODES } from "node:http"
import { commonHeaders } from "./headers.ts"

/** Why something was refused that never became a request of ours. The connection ends with the answer. */
export interface Unreadable {
  status: number
  message: string
}

/** What Node's parser, or one of its limits, stopped. */
function causeOf(errorCode: string | undefined): Unreadable {
  switch (errorCode) {
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, message: "The headers are larger than 16 KiB. Send less." }
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, message: "The request did not arrive in time. Send it again." }
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return { status: 413, message: "The body has too much beside its content. Send less." }
    default:
      return { status: 400, message: "This is no HTTP request that can be read." }
  }
}

const headers = { ...commonHeaders, "content-type": "application/json", connection: "close" }

function bodyOf({ status, message }: Unreadable): string {
  return JSON.stringify({ code: status === 500 ? "internal" : "invalid", message })
}

/** The whole answer as it is written to a connection. */
export function unreadableText(errorCode: string | undefined): string {
  const cause = causeOf(errorCode)
  const body = bodyOf(cause)
  const all = { ...headers, "content-length": Buffer.byteLength(body) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${cause.status} ${STATUS_CODES[cause.status]}`, ...lines, "", body].join("\r\n")
}

export function sendUnreadable(outgoing: ServerResponse, cause: Unreadable): void {
  const body = bodyOf(cause)
  outgoing.writeHead(cause.status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body)
}

export function unreadableAnswer(cause: Unreadable): Response {
  return new Response(bodyOf(cause), { status: cause.status, headers })
}
