import type { sessionsRoutes } from "../../protocol/routes/index.ts"
import type { SearchQuery, SessionQuery } from "../../stores/store.ts"
import { directoryOf, type ServerContext } from "../http/call.ts"
import type { Handlers } from "../http/mount.ts"

export function sessionsHandlers({ stemma, presence }: ServerContext): Handlers<typeof sessionsRoutes> {
  const { sessions, permissions } = stemma
  return {
    async list({ query }) {
      const { updatedFrom: from, updatedTo: to, ...rest } = query
      const isBounded = from !== undefined || to !== undefined
      const updated = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
      return sessions.list({ ...rest, ...(isBounded && { updated }) } as SessionQuery)
    },
    async create({ body = {} }) {
      return (await sessions.create(body)).info()
    },
    async current({ body = {} }) {
      return (await sessions.current(body)).info()
    },
    statuses: () => Object.fromEntries(stemma.statuses()),
    async questions({ query }, call) {
      presence.touch()
      const directory = directoryOf(call, query)
      return permissions.open(undefined, directory === undefined ? {} : { directory })
    },
    search: ({ query }) => sessions.search(query as SearchQuery),
  }
}
