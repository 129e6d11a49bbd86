import type { SessionStatus } from "../../../../protocol/index.ts"
import { version } from "../../../../protocol/version.ts"
import type { Frame } from "../../../../stream/hub.ts"
import type { Call, ServerContext } from "../../../http/call.ts"
import type { Handlers } from "../../../http/mount.ts"
import { Format } from "../../../streams/format.ts"
import { sessionOf } from "../../../streams/with-statuses.ts"
import { blobAddress } from "../../files/file-urls.ts"
import { LocatedSource } from "../../live/located-source.ts"
import type { OpenReaders } from "../../live/open-readers.ts"
import { SessionLocations } from "../../live/session-locations.ts"
import type { globalRoutes } from "../../routes/project-routes.ts"
import { connectedText, globalText, toWireText } from "../../wire/to-wire-event.ts"

export function globalHandlers(server: ServerContext, readers: OpenReaders): Handlers<typeof globalRoutes> {
  const locations = new SessionLocations(server.stemma.reader)
  /** All subscribers share one Format, so that each frame is serialised once. */
  const format = new Format((frame: Frame) => {
    const location = locationOf(frame, locations)
    const projectID = location?.projectID ?? ""
    const text = toWireText(frame, { projectID, url: blobAddress(server.publicUrl()) })
    return text && globalText(text, location)
  })
  return {
    health: () => ({ healthy: true as const, version }),
    event: (_, call) => serveAll(server, call, { format, locations, readers }),
  }
}

/** The session of a frame may be removed already. Its last event has the directory, but not the project. */
function locationOf(
  frame: Frame,
  locations: SessionLocations,
): { directory: string; projectID?: string } | undefined {
  if (!("event" in frame)) return undefined
  const { type, properties } = frame.event
  const sessionID = sessionOf(frame.event)
  const known = sessionID === undefined ? undefined : locations.get(sessionID)
  return known ?? (type === "session.deleted" ? { directory: properties.info.directory } : undefined)
}

async function serveAll(
  { stemma, presence, streams }: ServerContext,
  call: Call,
  { format, locations, readers }: { format: Format; locations: SessionLocations; readers: OpenReaders },
): Promise<Response> {
  const leaving = new DisposableStack()
  leaving.use(presence.enter())
  return streams.serve(call, new LocatedSource(stemma.subscribe(), locations), {
    format,
    first: `data: ${globalText(connectedText())}\n\n`,
    async statuses(sent) {
      const running = stemma.statuses()
      const ids = [...new Set([...sent, ...running.keys()])]
      await locations.load(ids)
      return ids.map((id): [string, SessionStatus] => [id, stemma.status(id)])
    },
    onOpen(write) {
      leaving.use(readers.add({ write }))
    },
    onClose: () => leaving.dispose(),
  })
}
