import { type ServerResponse, STATUS_CODES } from "node:http"
import { commonHeaders } from "./headers.ts"

/** Why data was refused that is not a valid HTTP request. The connection closes after the answer. */
export interface BadRequest {
  status: number
  message: string
}

/** The answer for an error of Node's HTTP parser or of its limits. */
function badRequestOf(errorCode: string | undefined): BadRequest {
  switch (errorCode) {
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, message: "The headers are larger than 16 KiB. Send smaller headers." }
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, message: "The request did not arrive in time. Send it again." }
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return {
        status: 413,
        message: "The chunks of the body have extensions that are too large. Send the body without them.",
      }
    default:
      return { status: 400, message: "This is not a valid HTTP request." }
  }
}

const headers = { ...commonHeaders, "content-type": "application/json", connection: "close" }

function bodyOf({ status, message }: BadRequest): string {
  return JSON.stringify({ code: status === 500 ? "internal" : "invalid", message })
}

/** The whole answer as text, to be written to a socket. */
export function badRequestText(errorCode: string | undefined): string {
  const cause = badRequestOf(errorCode)
  const body = bodyOf(cause)
  const all = { ...headers, "content-length": Buffer.byteLength(body) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${cause.status} ${STATUS_CODES[cause.status]}`, ...lines, "", body].join("\r\n")
}

export function sendBadRequest(outgoing: ServerResponse, cause: BadRequest): void {
  const body = bodyOf(cause)
  outgoing.writeHead(cause.status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body)
}

export function badRequestAnswer(cause: BadRequest): Response {
  return new Response(bodyOf(cause), { status: cause.status, headers })
}
