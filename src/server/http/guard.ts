import { createHash, timingSafeEqual } from "node:crypto"
import type { ResolvedOptions } from "../options.ts"
import { HttpError } from "./errors.ts"

/** The address that the server listens on. */
export interface Address {
  host: string
  port: number
}

/** A hostile page may not fill the log. */
const warningsMax = 20

/** Decides which callers have access, by the Host, the origin of the page, and the token. */
export class Guard {
  readonly #options: ResolvedOptions
  readonly #token: Buffer | undefined
  readonly #refusedOrigins = new Set<string>()
  /**
   * Undefined until the server listens, and if another HTTP server calls `fetch`: then only configured names are known.
   */
  address: Address | undefined

  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#token = options.token === undefined ? undefined : digest(options.token)
  }

  /** Throws if the Host or the Origin is wrong: a web page may have tricked a browser into calling. */
  checkSource({ headers, method }: Pick<Request, "headers" | "method">): void {
    const host = headers.get("host")
    if (host === null || !this.#isOwnHost(host)) {
      throw new HttpError(
        403,
        "This server does not accept that Host. Use the address that it printed, or add the name to server.hosts.",
        { code: "denied" },
      )
    }
    const origin = headers.get("origin")
    if (origin === null) {
      // A browser that sends no Origin sends `sec-fetch-site`. A link to a public page is fine: it only reads, and the
      // other page cannot see the answer.
      const isLink = headers.get("sec-fetch-mode") === "navigate" && (method === "GET" || method === "HEAD")
      if (isFromOtherOrigin(headers) && !isLink) throw otherOriginError()
      return
    }
    if (this.isKnownOrigin(origin, host)) return
    const error = otherOriginError(origin)
    this.#warn(origin, error)
    throw error
  }

  /** A browser hides the answer from the page and its author, so the person at the server is told, once per origin. */
  #warn(origin: string, error: HttpError): void {
    if (this.#refusedOrigins.has(origin) || this.#refusedOrigins.size >= warningsMax) return
    this.#refusedOrigins.add(origin)
    this.#options.onWarning(error)
  }

  isKnownOrigin(origin: string, host: string): boolean {
    if (this.#options.origins.includes(origin)) return true
    // A proxy may have changed the Host.
    if (this.#options.publicUrl && new URL(this.#options.publicUrl).origin === origin) return true
    return origin === `http://${host.toLowerCase()}` || origin === `https://${host.toLowerCase()}`
  }

  /** An origin that the config allows, for the CORS headers. */
  allowedOrigin(headers: Headers): string | undefined {
    const origin = headers.get("origin")
    return origin !== null && this.#options.origins.includes(origin) ? origin : undefined
  }

  /**
   * Throws for a link on another site. A browser may send a stored login, and a request for questions counts as
   * presence.
   */
  checkLink(headers: Headers): void {
    if (headers.get("origin") === null && isFromOtherOrigin(headers)) throw otherOriginError()
  }

  /** Throws if the caller has not sent the token. */
  checkToken(headers: Headers): void {
    if (!this.#options.auth) return
    const given = sentToken(headers.get("authorization"))
    // Both tokens are hashed, so that neither the time nor the length reveals anything.
    if (this.#token && given !== undefined && timingSafeEqual(digest(given), this.#token)) return
    throw new HttpError(401, "The token is missing or wrong. Send it as `Authorization: Bearer TOKEN`.", {
      code: "denied",
      headers: { "www-authenticate": 'Bearer realm="stemma", Basic realm="stemma", charset="UTF-8"' },
    })
  }

  #isOwnHost(host: string): boolean {
    const parsed = /^[\w.:[\]-]+$/.test(host) ? URL.parse(`http://${host}`) : null
    if (!parsed) return false
    const name = parsed.hostname.toLowerCase()
    if (this.#options.hosts.includes(name) || this.#options.hosts.includes(parsed.host)) return true
    if (this.#options.publicUrl && isHostOf(new URL(this.#options.publicUrl), host)) return true
    const { address } = this
    if (!address) return false
    if (portOf(parsed) !== address.port) return false
    if (isLoopbackName(name)) return isLoopback(address.host) || isAnyAddress(address.host)
    // An attacker can point a host name at this machine, but not an IP address.
    return isAnyAddress(address.host)
      ? isAddress(name)
      : withoutBrackets(name) === withoutBrackets(address.host)
  }
}

/** True if a page of another origin caused the request. */
function isFromOtherOrigin(headers: Headers): boolean {
  const site = headers.get("sec-fetch-site")
  return site === "cross-site" || site === "same-site"
}

/** The token in `Bearer TOKEN`, or the password in `Basic`. */
function sentToken(authorization: string | null): string | undefined {
  const match = /^(bearer|basic) +([\x21-\x7e]+)$/i.exec(authorization ?? "")
  if (!match) return undefined
  if (match[1]!.toLowerCase() === "bearer") return match[2]
  const text = Buffer.from(match[2]!, "base64").toString("utf8")
  const colon = text.indexOf(":")
  return colon < 0 ? undefined : text.slice(colon + 1)
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest()
}

function otherOriginError(origin?: string): HttpError {
  const name = origin === undefined ? undefined : URL.parse(origin)?.origin
  const [page, entry] =
    name && name !== "null" ? [`The web page ${name}`, `"${name}"`] : ["A web page", "its origin"]
  return new HttpError(
    403,
    `${page} may not call this server, because server.origins in the config does not list it. If it may, add ${entry} to server.origins and start the server again.`,
    { code: "denied" },
  )
}

/** True if `host` is the host of `url`, with or without the default port. */
function isHostOf(url: URL, host: string): boolean {
  return URL.parse(`${url.protocol}//${host}`)?.host === url.host
}

function portOf(url: URL): number {
  return url.port === "" ? 80 : Number(url.port)
}

/**
 * A host in the form that `URL` writes, without brackets: LOCALHOST is localhost, 127.1 is 127.0.0.1, 0 is 0.0.0.0,
 * [::1] is ::1. A text that is not a host stays unchanged, and the system refuses it.
 */
export function normalizeHost(host: string): string {
  const inner = /^\[.*\]$/.test(host) ? host.slice(1, -1) : host
  if (/[\s/?#@\\]/.test(inner)) return host
  const url = URL.parse(`http://${inner.includes(":") ? `[${inner}]` : inner}/`)
  return url ? withoutBrackets(url.hostname) : host
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, "").toLowerCase()
}

/** `URL` has already normalised every form of an IPv4 address. */
function isAddress(name: string): boolean {
  return name.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(name)
}

function isLoopbackName(name: string): boolean {
  return name === "localhost" || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name)
}

function isAnyAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::" || host === ""
}

/** True for an address that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return isLoopbackName(host) || withoutBrackets(host) === "::1"
}
