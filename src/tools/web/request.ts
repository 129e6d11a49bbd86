import type { IncomingMessage, RequestOptions } from "node:http"
import type { LookupFunction } from "node:net"
import { isIP } from "node:net"
import type { Readable } from "node:stream"
import { version } from "../../protocol/index.ts"
import { hostOf } from "./address.ts"

export interface WebRequestOptions {
  /** The checked addresses of the URL's host. The request connects to one of them. */
  addresses: readonly string[]
  accept: string
  signal: AbortSignal
  /** The size limit of the body, compressed and decompressed. Throws for a type that the caller does not accept. */
  bytesMax(contentType: string): number
  /** CA certificates to trust instead of the default ones. */
  ca?: string
}

export interface WebResponse {
  status: number
  contentType: string
  /** The Location header of a redirect, unchanged. */
  location?: string
  /** Empty unless the status is a success. */
  body: Uint8Array
}

/** Sends one GET request without cookies, referrer, credentials or proxy. Does not follow redirects. */
export async function getOnce(url: URL, options: WebRequestOptions): Promise<WebResponse> {
  const message = await send(url, options)
  try {
    const status = message.statusCode ?? 0
    const contentType = message.headers["content-type"] ?? ""
    const { location } = message.headers
    if (status < 200 || status > 299) return { status, contentType, location, body: new Uint8Array() }
    const body = await readBody(message, options.bytesMax(contentType))
    return { status, contentType, body }
  } finally {
    message.destroy()
  }
}

async function send(
  url: URL,
  { addresses, accept, signal, ca }: WebRequestOptions,
): Promise<IncomingMessage> {
  const { Agent, request } = await import(url.protocol === "https:" ? "node:https" : "node:http")
  const host = hostOf(url)
  const options: RequestOptions & Record<string, unknown> = {
    // The global agent keeps connections and may use a proxy that the environment names.
    agent: new Agent({ keepAlive: false }),
    hostname: host,
    port: url.port,
    path: url.pathname + url.search,
    lookup: lookupOf(addresses),
    headers: {
      "User-Agent": `stemma/${version}`,
      Accept: accept,
      "Accept-Encoding": "gzip, br",
    },
    signal,
    rejectUnauthorized: true,
    servername: isIP(host) === 0 ? host : "",
    ca,
  }
  return new Promise((resolve, reject) => {
    const sent = request(options, resolve)
    sent.on("error", reject)
    sent.end()
  })
}

function lookupOf(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    if (options.all) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}

async function readBody(message: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  const tooBig = (): Error =>
    new Error(
      `The response is bigger than ${Math.floor(bytesMax / 1024 / 1024)} MiB, the limit for its type.`,
    )
  if (Number(message.headers["content-length"] ?? 0) > bytesMax) throw tooBig()
  const source = await decompressed(message)
  let sent = 0
  message.on("data", (chunk: Uint8Array) => {
    sent += chunk.length
    if (sent > bytesMax) source.destroy(tooBig())
  })
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > bytesMax) throw tooBig()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function decompressed(message: IncomingMessage): Promise<Readable> {
  const encoding = (message.headers["content-encoding"] ?? "identity").trim().toLowerCase()
  if (encoding === "identity" || encoding === "") return message
  const { createBrotliDecompress, createGunzip, createInflate } = await import("node:zlib")
  const { pipeline } = await import("node:stream")
  const decoders: Record<string, typeof createGunzip | typeof createBrotliDecompress> = {
    gzip: createGunzip,
    "x-gzip": createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  }
  const create = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
  if (create === undefined)
    throw new Error("The Content-Encoding of the response is not supported: only gzip, deflate and br are.")
  // A failure reaches the reader of the decompressed stream, so the callback has nothing to do.
  return pipeline(message, create(), () => {})
}
