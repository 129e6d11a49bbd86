import { isToken, tokenCharactersMin } from "../config/secrets/token.ts"
import { StemmaError } from "../protocol/index.ts"

export interface ServerOptions {
  /** What callers must know. At least 16 characters; needed to listen, unless `auth` is false. */
  token?: string
  /** False asks for no token. Only for an address of this machine's own loopback. */
  auth?: boolean
  /** Names under which the server is reached, beside the address it listens on: `["stemma.example.org"]`. */
  hosts?: readonly string[]
  /** Origins of other web pages that may call it: `["https://app.example.org"]`. None if absent. */
  origins?: readonly string[]
  /** The address that people outside use, for links to shared sessions. */
  publicUrl?: string
  /**
   * Whether a person is there to answer questions. If absent: while somebody listens to a stream of sessions or has just
   * asked for open questions.
   */
  interactive?: boolean
  /** How often a silent stream says that it lives. */
  heartbeatMs?: number
  /** How long the headers of a request may take to arrive, and a new connection may say nothing. */
  headersTimeoutMs?: number
  /** How long the body of a request may take to arrive. */
  bodyTimeoutMs?: number
  bodyBytesMax?: number
  /** How long running prompts are waited for when the server closes. */
  drainMs?: number
  /** How long a stream that nobody reads is kept. */
  stallMs?: number
  /** Told what nobody waits for. */
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
      `A token needs at least ${tokenCharactersMin} characters, none of them blank. Leave it out to have one made.`,
    )
  }
  return {
    token,
    auth: options.auth ?? true,
    hosts: (options.hosts ?? []).map((host) => host.toLowerCase()),
    origins: (options.origins ?? []).map(originOf),
    publicUrl: publicUrl === undefined ? undefined : publicAddress(publicUrl),
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
  throw new StemmaError("invalid", `${text} is no origin: write one such as https://app.example.org.`)
}

function publicAddress(text: string): string {
  const url = URL.parse(text)
  const isPlain = url && url.search === "" && url.hash === "" && url.username === "" && url.password === ""
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/$/, "")
  throw new StemmaError("invalid", `${text} is no address: write publicUrl as https://stemma.example.org.`)
}
