import { relative, sep } from "node:path"
import type { Session } from "../../../protocol/index.ts"
import type { SessionQuery } from "../../../stores/store.ts"
import type { Call, ServerContext } from "../../http/call.ts"
import type { Handlers } from "../../http/mount.ts"
import { sessionDiff } from "../../session-diff.ts"
import type { OpenReaders } from "../live/open-readers.ts"
import { waitingPrompts } from "../live/waiting-prompts.ts"
import { namedDirectory, projectOf } from "../routes/request-project.ts"
import type { sessionRoutes } from "../routes/session-routes.ts"
import { withBusyError } from "../wire/errors.ts"
import { toWireDiff, toWireSession, toWireTodo } from "../wire/to-wire-session.ts"
import type { WireFileDiff, WireSession } from "../wire/wire-session.ts"
import { findMessage, lastMessages, wireItems } from "./history.ts"
import { type PromptRoute, promptHandlers } from "./prompt-handlers.ts"

type SessionHandlers = Handlers<typeof sessionRoutes>

const sessionsStandard = 100
const messagesMax = 10_000
const pageMax = 1000

export function sessionHandlers(server: ServerContext, readers: OpenReaders): SessionHandlers {
  return {
    ...findingHandlers(server),
    ...readingHandlers(server),
    ...promptHandlers(server, readers),
    ...changingHandlers(server),
  }
}

type Finding = "list" | "create" | "status"

function findingHandlers(server: ServerContext): Pick<SessionHandlers, Finding> {
  const { stemma } = server
  return {
    list: ({ query }, call) => listSessions(server, call, query),
    async create({ query, body = {} }, call) {
      const { directory } = await projectOf(server, call, query)
      const { parentID, title, agent, model, permission } = body
      const session = await stemma.sessions.create({
        directory,
        parentID,
        title,
        agent,
        permission,
        ...(model && { model: `${model.providerID}/${model.id}` }),
      })
      return toWireSession(await session.info())
    },
    async status({ query }, call) {
      const named = namedDirectory(call, query)
      const directory = named === undefined ? undefined : (await projectOf(server, call, query)).directory
      return Object.fromEntries(await runningIn(server, directory))
    },
  }
}

/** The sessions that this process runs, filtered by directory if one is named. */
export async function runningIn({ stemma }: ServerContext, directory: string | undefined) {
  const all = [...stemma.statuses()]
  if (directory === undefined) return all
  const found = await Promise.all(
    all.map(async ([id]) => (await stemma.reader.session(id).catch(() => undefined))?.directory),
  )
  return all.filter((_, index) => found[index] === directory)
}

interface ListQuery {
  directory?: string | undefined
  scope?: "project" | undefined
  path?: string | undefined
  roots?: boolean | undefined
  start?: number | undefined
  search?: string | undefined
  limit?: number | undefined
}

async function listSessions(server: ServerContext, call: Call, query: ListQuery): Promise<WireSession[]> {
  const { scope, path, roots, start, search, limit = sessionsStandard } = query
  const project = await projectOf(server, call, query)
  const { loaded } = await project.setup()
  const isWhole = scope === "project" || path !== undefined || namedDirectory(call, query) === undefined
  const wanted: SessionQuery = {
    ...(isWhole ? { projectID: loaded.project.id } : { directory: project.directory }),
    ...(roots && { parentID: null }),
    ...(start !== undefined && { updated: { from: start } }),
    ...(search !== undefined && search !== "" && { title: search }),
  }
  const isThere = path === undefined ? () => true : isBelow(loaded.project.root, path)
  const found: Session[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await server.stemma.sessions.list({
      ...wanted,
      limit: path === undefined ? limit : pageMax,
      ...(cursor !== undefined && { cursor }),
    })
    found.push(...page.items.filter(isThere))
    cursor = page.next
    if (found.length >= limit || cursor === undefined) return found.slice(0, limit).map(toWireSession)
  }
}

/** Whether a session's directory is the given directory of the project, or below it. */
function isBelow(root: string, path: string): (session: Session) => boolean {
  const wanted = path.replace(/^(?:\.?\/)+|\/+$/g, "")
  return ({ directory }) => {
    const own = relative(root, directory).split(sep).join("/")
    return wanted === "" || wanted === "." || own === wanted || own.startsWith(`${wanted}/`)
  }
}

type Reading = "get" | "children" | "todo" | "diff" | "messages" | "message"

function readingHandlers(server: ServerContext): Pick<SessionHandlers, Reading> {
  const { sessions, reader } = server.stemma
  return {
    get: async ({ params }) => toWireSession(await reader.session(params.sessionID)),
    async children({ params }) {
      await reader.session(params.sessionID)
      const found: Session[] = []
      for (let cursor: string | undefined; ; ) {
        const page = await sessions.children(params.sessionID, {
          limit: pageMax,
          ...(cursor !== undefined && { cursor }),
        })
        found.push(...page.items)
        cursor = page.next
        if (cursor === undefined) return found.map(toWireSession)
      }
    },
    todo: async ({ params }) => (await (await sessions.get(params.sessionID)).todos()).map(toWireTodo),
    diff: async ({ params, query }) =>
      (await sessionDiff(reader, params.sessionID, query.messageID)).map(
        (diff): WireFileDiff => toWireDiff(diff),
      ),
    async messages({ params: { sessionID }, query: { limit = messagesMax, before } }, call) {
      // The inbox is read before the history: a prompt that is taken in between is then in both, and not in neither.
      const waiting = before === undefined ? await waitingPrompts(reader, sessionID) : []
      const { items, more } = await lastMessages(reader, sessionID, { limit, before })
      const next = items[0]?.message.id
      if (more && next !== undefined)
        call.headers = { ...call.headers, ...nextHeaders(call, { next, limit }) }
      const isTaken = (id: string) => items.some(({ message }) => message.id === id)
      const queued = waiting.filter(({ message }) => !isTaken(message.id))
      return wireItems(server, sessionID, queued.length > 0 ? [...items, ...queued] : items)
    },
    async message({ params: { sessionID, messageID } }) {
      const [item] = await wireItems(server, sessionID, [await findMessage(reader, sessionID, messageID)])
      return item!
    },
  }
}

/** The headers that tell the OpenCode client where older messages are. */
function nextHeaders(call: Call, { next, limit }: { next: string; limit: number }): Record<string, string> {
  const url = new URL(call.request.url)
  url.searchParams.set("limit", String(limit))
  url.searchParams.set("before", next)
  return {
    link: `<${url.pathname}${url.search}>; rel="next"`,
    "x-next-cursor": next,
    "access-control-expose-headers": "Link, X-Next-Cursor",
  }
}

type Changing = Exclude<keyof SessionHandlers, Finding | Reading | PromptRoute>

function changingHandlers(server: ServerContext): Pick<SessionHandlers, Changing> {
  const { sessions, reader } = server.stemma
  const changed = <T>(sessionID: string, work: Promise<T>) =>
    server.afterEvents(sessionID, withBusyError(sessionID, work))
  return {
    async update({ params: { sessionID }, body = {} }) {
      const { title, permission, time } = body
      if (title !== undefined || permission !== undefined)
        await sessions.update(sessionID, { title, permission })
      if (time?.archived !== undefined)
        await sessions.archive(sessionID, { archived: Boolean(time.archived) })
      return toWireSession(await reader.session(sessionID))
    },
    async remove({ params }) {
      await sessions.remove(params.sessionID)
      return true
    },
    async fork({ params, body = {} }) {
      return toWireSession(await (await sessions.fork(params.sessionID, body)).info())
    },
    revert: async ({ params: { sessionID }, body }) =>
      toWireSession((await changed(sessionID, sessions.revert(sessionID, body))).session),
    unrevert: async ({ params: { sessionID } }) =>
      toWireSession((await changed(sessionID, sessions.unrevert(sessionID))).session),
    share: async ({ params }) => toWireSession(await server.share(params.sessionID, {})),
    unshare: async ({ params }) => toWireSession(await sessions.unshare(params.sessionID)),
  }
}
