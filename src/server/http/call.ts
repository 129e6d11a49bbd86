import type { IncomingMessage, ServerResponse } from "node:http"
import { isAbsolute } from "node:path"
import type { Session } from "../../protocol/index.ts"
import type { SharePreview } from "../../protocol/routes/share-shapes.ts"
import type { Stemma } from "../../run/index.ts"
import type { ResolvedOptions } from "../options.ts"
import type { Presence } from "../presence.ts"
import type { Streams } from "../streams/streams.ts"
import { HttpError } from "./errors.ts"

/** What a preview of a public page includes. `before`: only messages before this position. */
export interface PreviewOptions {
  reasoning?: boolean | undefined
  tools?: boolean | undefined
  before?: number | undefined
}

/** What all routes share. */
export interface ServerContext {
  stemma: Stemma
  options: ResolvedOptions
  presence: Presence
  streams: Streams
  isDraining(): boolean
  /** Throws `unavailable` once the server accepts no more prompts. */
  checkOpen(): void
  /**
   * Returns the result of a call once every open stream has been given the events of the call. A client that waits for the
   * answer may then close its stream without missing an event.
   */
  afterEvents<T>(sessionID: string, work: Promise<T>): Promise<T>
  /** The metrics in Prometheus text format. */
  metrics(): string
  /** Creates the public page of a session. */
  share(sessionID: string, include: { reasoning?: boolean; tools?: boolean }): Promise<Session>
  /** What the public page of a session would show. */
  previewShare(sessionID: string, options: PreviewOptions): Promise<SharePreview>
  /** The address that links start with: from the config, or else the address that the server listens on. */
  publicUrl(): string
}

/** One request. */
export interface Call {
  request: Request
  /** Absent for a call within this process. */
  incoming: IncomingMessage | undefined
  outgoing: ServerResponse | undefined
  headers: Record<string, string>
  /** Throws unless the caller has sent the token. A call within this process needs no token. */
  authorize(): void
  /** The answer of a route that has written to `outgoing` itself. */
  sent(): Response
}

/** The directory that a request names in its query, or in the header of the OpenCode client. */
export function directoryOf(call: Call, query: { directory?: string | undefined }): string | undefined {
  if (query.directory !== undefined) return query.directory
  const header = call.request.headers.get("x-opencode-directory")
  if (header === null || header === "") return undefined
  const directory = decoded(header)
  if (isAbsolute(directory)) return directory
  throw new HttpError(
    400,
    "The header x-opencode-directory is not an absolute path. Send the path from the root.",
  )
}

/** The text without percent-encoding; the text itself if it is not validly encoded. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The cursor that a stream continues from. */
export function sinceOf(call: Call, query: { since?: string | undefined }): string | undefined {
  return query.since ?? call.request.headers.get("last-event-id") ?? undefined
}
