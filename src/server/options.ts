import { isToken, tokenCharactersMin } from "../config/secrets/token.ts"
import { StemmaError } from "../protocol/index.ts"

export interface ServerOptions {
  /** The token that callers must send. At least 16 characters. Required to listen, unless `auth` is false. */
  token?: string
  /** False requires no token. Only allowed on a loopback address. */
  auth?: boolean
  /** Host names of the server, besides the address it listens on: `["stemma.example.org"]`. */
  hosts?: readonly string[]
  /** Origins of other web pages that may call the server: `["https://app.example.org"]`. None if absent. */
  origins?: readonly string[]
  /** The public address of the server, for links to shared sessions. */
  publicUrl?: string
  /**
   * Whether a person is there to answer questions. If absent: true while a client is subscribed to the events of
   * sessions, or has recently requested the open questions.
   */
  interactive?: boolean
  /** How often a silent stream sends a heartbeat. */
  heartbeatMs?: number
  /** The timeout for the headers of a request, and for a new connection that sends nothing. */
  headersTimeoutMs?: number
  /** The timeout for the body of a request. */
  bodyTimeoutMs?: number
  bodyBytesMax?: number
  /** How long to wait for running prompts when the server closes. */
  drainMs?: number
  /** How long a stream is kept that the client does not read. */
  stallMs?: number
  /** Receives errors that no caller waits for. */
  onWarning?: (error: unknown) => void
}

export interface ResolvedOptions {
  token: string | undefined
  auth: boolean
  hosts: readonly string[]
  origins: readonly string[]
  publicUrl: string | undefined
  interactive: boolean | undefined
  heartbeatMs: number
  headersTimeoutMs: number
  bodyTimeoutMs: number
  bodyBytesMax: number
  drainMs: number
  stallMs: number
  onWarning: (error: unknown) => void
}

export function resolveOptions(options: ServerOptions): ResolvedOptions {
  const { token, publicUrl } = options
  if (token !== undefined && !isToken(token)) {
    throw new StemmaError(
      "invalid",
      `A token needs at least ${tokenCharactersMin} characters and no spaces. Leave it out to get a generated one.`,
    )
  }
  return {
    token,
    auth: options.auth ?? true,
    hosts: (options.hosts ?? []).map((host) => host.toLowerCase()),
    origins: (options.origins ?? []).map(originOf),
    publicUrl: publicUrl === undefined ? undefined : publicUrlOf(publicUrl),
    interactive: options.interactive,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    headersTimeoutMs: options.headersTimeoutMs ?? 10_000,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 60_000,
    bodyBytesMax: options.bodyBytesMax ?? 20 * 1024 * 1024,
    drainMs: options.drainMs ?? 5000,
    stallMs: options.stallMs ?? 30_000,
    onWarning: options.onWarning ?? ((error) => process.emitWarning(String(error))),
  }
}

function originOf(text: string): string {
  const url = URL.parse(text)
  if (url && url.origin !== "null" && /^https?:$/.test(url.protocol)) return url.origin
  throw new StemmaError("invalid", `${text} is not an origin. Write one such as https://app.example.org.`)
}

function publicUrlOf(text: string): string {
  const url = URL.parse(text)
  const isPlain = url && url.search === "" && url.hash === "" && url.username === "" && url.password === ""
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/$/, "")
  throw new StemmaError(
    "invalid",
    `${text} is not a valid publicUrl. Write one such as https://stemma.example.org.`,
  )
}
