import type { IncomingMessage, ServerResponse } from "node:http"
import { isAbsolute } from "node:path"
import type { Session } from "../../protocol/index.ts"
import type { Stemma } from "../../run/index.ts"
import type { ResolvedOptions } from "../options.ts"
import type { Presence } from "../presence.ts"
import type { Streams } from "../streams/streams.ts"
import { HttpError } from "./errors.ts"

/** What all routes share. */
export interface ServerContext {
  stemma: Stemma
  options: ResolvedOptions
  presence: Presence
  streams: Streams
  isDraining(): boolean
  /** Throws `unavailable` once the server takes no more prompts. */
  checkOpen(): void
  /** Figures for Prometheus. */
  metrics(): string
  /** Makes a public page of a session. */
  share(sessionID: string, include: { reasoning?: boolean; tools?: boolean }): Promise<Session>
  /** The address that links begin with: that of the config, else the one that the server listens on. */
  publicUrl(): string
}

/** One request on its way. */
export interface Call {
  request: Request
  /** Absent for a call within this process. */
  incoming: IncomingMessage | undefined
  outgoing: ServerResponse | undefined
  /** Headers that every answer has. */
  headers: Record<string, string>
  /** Throws unless the caller has shown the token; a call within this process need not. */
  authorize(): void
  /** What a route answers that has written to `outgoing` itself. */
  sent(): Response
}

/** The directory that a request names, by its query or by the header of the OpenCode client. */
export function directoryOf(call: Call, query: { directory?: string | undefined }): string | undefined {
  if (query.directory !== undefined) return query.directory
  const header = call.request.headers.get("x-opencode-directory")
  if (header === null || header === "") return undefined
  const directory = decoded(header)
  if (isAbsolute(directory)) return directory
  throw new HttpError(400, "x-opencode-directory is not an absolute path. Name it from the root on.")
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Where a reader wants to go on from. */
export function sinceOf(call: Call, query: { since?: string | undefined }): string | undefined {
  return query.since ?? call.request.headers.get("last-event-id") ?? undefined
}
