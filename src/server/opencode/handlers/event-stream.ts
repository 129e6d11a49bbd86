import type { SessionStatus } from "../../../protocol/index.ts"
import type { Project, StoreReader } from "../../../run/index.ts"
import { type Call, type ServerContext, sinceOf } from "../../http/call.ts"
import type { Handlers } from "../../http/mount.ts"
import { Format, ownText } from "../../streams/format.ts"
import { blobAddress } from "../files/file-urls.ts"
import type { OpenReaders } from "../live/open-readers.ts"
import type { eventRoutes } from "../routes/directory-routes.ts"
import { projectOf } from "../routes/request-project.ts"
import { connectedText, toWireText } from "../wire/to-wire-event.ts"
import { runningIn } from "./session-handlers.ts"

const ownFormat = new Format(ownText)
const lastChangedMax = 100

export function eventHandlers(server: ServerContext, readers: OpenReaders): Handlers<typeof eventRoutes> {
  /** All subscribers of one directory share one Format, so that each frame is serialised once. */
  const formats = new WeakMap<Project, Format>()
  const formatOf = async (project: Project): Promise<Format> => {
    const known = formats.get(project)
    if (known) return known
    const { loaded } = await project.setup()
    const url = blobAddress(server.publicUrl())
    const made = new Format((frame) => toWireText(frame, { projectID: loaded.project.id, url }))
    formats.set(project, made)
    return made
  }
  return {
    async subscribe({ query }, call) {
      const project = await projectOf(server, call, query)
      const format = query.format === undefined ? await formatOf(project) : ownFormat
      const { directory } = project
      return serveDirectory(server, call, { ...query, directory, bytes: format, readers })
    },
  }
}

async function serveDirectory(
  server: ServerContext,
  call: Call,
  query: {
    directory: string
    bytes: Format
    readers: OpenReaders
    since?: string | undefined
    format?: "events" | "rows" | undefined
  },
): Promise<Response> {
  const { stemma, presence, streams } = server
  const { directory, bytes, format, readers } = query
  const since = sinceOf(call, query)
  const subscription = stemma.subscribe({
    scope: { directory },
    as: format ?? "events",
    ...(since !== undefined && { since }),
  })
  const leaving = new DisposableStack()
  leaving.use(presence.enter())
  return streams.serve(call, subscription, {
    format: bytes,
    ...(format === undefined && { first: `data: ${connectedText()}\n\n` }),
    async statuses(sent) {
      const running = (await runningIn(server, directory)).map(([id]) => id)
      const recent = since === undefined ? [] : await lastChanged(stemma.reader, directory)
      const ids = new Set([...sent, ...recent, ...running])
      return [...ids].map((id): [string, SessionStatus] => [id, stemma.status(id)])
    },
    onOpen(write) {
      if (format === undefined) leaving.use(readers.add({ directory, write }))
    },
    onClose: () => leaving.dispose(),
  })
}

/** Their last row may have been sent before the client disconnected, and their `idle` status only afterwards. */
async function lastChanged(reader: StoreReader, directory: string): Promise<string[]> {
  return (await reader.sessions({ directory, limit: lastChangedMax })).items.map(({ id }) => id)
}
