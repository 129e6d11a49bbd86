import { createHash, timingSafeEqual } from "node:crypto"
import type { ResolvedOptions } from "../options.ts"
import { HttpError } from "./errors.ts"

/** Where the server listens. */
export interface Address {
  host: string
  port: number
}

/** Decides who may call: the Host it was called by, the page it was called from, the token. */
export class Guard {
  readonly #options: ResolvedOptions
  readonly #token: Buffer | undefined
  /** Undefined until it listens, or if somebody else does: then only names that were given are known. */
  address: Address | undefined

  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#token = options.token === undefined ? undefined : digest(options.token)
  }

  /** Throws if the request may not even be looked at: a page that tricked a browser into calling. */
  checkSource({ headers, method }: Pick<Request, "headers" | "method">): void {
    const host = headers.get("host")
    if (host === null || !this.#isOwnHost(host)) {
      throw new HttpError(
        403,
        "This server is not called by that Host. Use the address it printed, or add the name to server.hosts.",
        { code: "denied" },
      )
    }
    const origin = headers.get("origin")
    if (origin === null) {
      // A browser that says no Origin says this. A link may lead to what is public: it reads, and shows nothing to the page.
      const isLink = headers.get("sec-fetch-mode") === "navigate" && (method === "GET" || method === "HEAD")
      if (isForeign(headers) && !isLink) throw foreignPage()
      return
    }
    if (!this.isKnownOrigin(origin, host)) throw foreignPage()
  }

  isKnownOrigin(origin: string, host: string): boolean {
    if (this.#options.origins.includes(origin)) return true
    // A proxy may have changed the Host.
    if (this.#options.publicUrl && new URL(this.#options.publicUrl).origin === origin) return true
    return origin === `http://${host.toLowerCase()}` || origin === `https://${host.toLowerCase()}`
  }

  /** An origin that was allowed by the config, for the headers of CORS. */
  allowedOrigin(headers: Headers): string | undefined {
    const origin = headers.get("origin")
    return origin !== null && this.#options.origins.includes(origin) ? origin : undefined
  }

  /** Throws for a link on another site: who looks for questions counts as there, and a browser may know a login. */
  checkLink(headers: Headers): void {
    if (headers.get("origin") === null && isForeign(headers)) throw foreignPage()
  }

  /** Throws if the caller does not know the token. */
  checkToken(headers: Headers): void {
    if (!this.#options.auth) return
    const given = givenToken(headers.get("authorization"))
    // Both are hashed, so that neither the time nor the length tells anything.
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
    // A name can be made to point anywhere, an address cannot.
    return isAnyAddress(address.host) ? isAddress(name) : bare(name) === bare(address.host)
  }
}

/** True if a page of another origin made the browser call. */
function isForeign(headers: Headers): boolean {
  const site = headers.get("sec-fetch-site")
  return site === "cross-site" || site === "same-site"
}

/** The token in `Bearer TOKEN`, or the password in `Basic`. */
function givenToken(authorization: string | null): string | undefined {
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

function foreignPage(): HttpError {
  return new HttpError(
    403,
    "A web page of another origin may not call this server. Add the origin to server.origins if it should.",
    { code: "denied" },
  )
}

/** With or without the port that the address does without. */
function isHostOf(url: URL, host: string): boolean {
  return URL.parse(`${url.protocol}//${host}`)?.host === url.host
}

function portOf(url: URL): number {
  return url.port === "" ? 80 : Number(url.port)
}

/**
 * A host as `URL` writes it, without brackets: LOCALHOST is localhost, 127.1 is 127.0.0.1, 0 is 0.0.0.0, [::1] is ::1. What is
 * none stays, for the system to refuse.
 */
export function plainHost(host: string): string {
  const inner = /^\[.*\]$/.test(host) ? host.slice(1, -1) : host
  if (/[\s/?#@\\]/.test(inner)) return host
  const url = URL.parse(`http://${inner.includes(":") ? `[${inner}]` : inner}/`)
  return url ? bare(url.hostname) : host
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, "").toLowerCase()
}

/** `URL` has made every form of an IPv4 address plain by then. */
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
  return isLoopbackName(host) || bare(host) === "::1"
}
