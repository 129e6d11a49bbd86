import { type HistoryItem, type Session, StemmaError } from "../../protocol/index.ts"
import { findMessage, promptBefore, type SessionHandle, type StoreReader } from "../../run/index.ts"
import { visibleItems } from "../../session/index.ts"
import type { Call, ServerContext } from "../http/call.ts"
import type { Handlers } from "../http/mount.ts"
import { Format } from "../streams/format.ts"
import type { ChatEvent } from "./chat-event.ts"
import { type ChatFrame, ChatSource, type ChatSourceOptions } from "./chat-source.ts"
import { imageParts } from "./images.ts"
import { metaOf, TokenEstimates } from "./meta.ts"
import type { panelRoutes } from "./routes.ts"
import { panelMessages } from "./transcript.ts"

const historyLimit = 1000
/** Joining a turn with more messages than this starts at its last ones. */
const turnMax = 200

const format = new Format<ChatFrame>(({ chat }) => JSON.stringify(chat))

export function panelHandlers(context: ServerContext): Handlers<typeof panelRoutes> {
  const { stemma } = context
  const { sessions, reader } = stemma
  const estimates = new TokenEstimates(stemma)
  return {
    async chat({ params, body }, call) {
      context.checkOpen()
      await checkAgent(context, params.id)
      const { message, context: system, images = [] } = body
      const parts = imageParts(images)
      if (message.trim() === "" && parts.length === 0)
        throw new StemmaError("invalid", "The message is empty. Send text or an image.")
      const session = await sessionFor(context, params.id, body)
      const subscription = stemma.subscribe({ scope: { sessionID: session.id } })
      await subscription.ready
      try {
        const text = message.trim() === "" ? [] : [{ type: "text" as const, text: message }]
        // The sender writes through a channel and is not at this machine, so references in the text are not resolved
        // and nothing is executed.
        const options = {
          agent: params.id,
          references: "none" as const,
          unattended: true,
          ...(system !== undefined && { system }),
        }
        const run = session.prompt([...text, ...parts], options)
        await run.admitted
        const promptID = await run.messageID
        return await serveChat(context, call, {
          stemma,
          sessionID: session.id,
          promptID,
          subscription,
          reply: run,
        })
      } catch (error) {
        subscription.close()
        throw error
      }
    },
    async join({ params, query }, call) {
      const session = await findOwnSession(context, params.id, query)
      const subscription = stemma.subscribe({ scope: { sessionID: session.id } })
      try {
        await subscription.ready
        const turn = await lastTurn(reader, session)
        return await serveChat(context, call, { stemma, sessionID: session.id, subscription, ...turn })
      } catch (error) {
        subscription.close()
        throw error
      }
    },
    async list({ params, query }) {
      await checkAgent(context, params.id)
      const { archived = false, ...page } = query
      const found = await sessions.list({ agent: params.id, parentID: null, archived, ...page })
      const metas = await Promise.all(found.items.map((session) => metaOf(session, estimates)))
      return { sessions: metas, ...(found.next !== undefined && { next: found.next }) }
    },
    async history({ params, query: { limit = historyLimit, before } }) {
      const session = await ownSession(context, params)
      const page = await reader.history(session.id, {
        take: "end",
        limit,
        ...(before !== undefined && { to: before }),
      })
      const first = page.items[0]
      const items = await withoutReverted(reader, session, page.items)
      return {
        session: await metaOf(session, estimates),
        messages: items.flatMap(panelMessages),
        ...(page.more && first && { before: first.position }),
      }
    },
    async update({ params, body: { title, archived } }) {
      const { id } = await ownSession(context, params)
      if (title !== undefined) await sessions.update(id, { title })
      if (archived !== undefined) await sessions.archive(id, { archived })
      return metaOf(await reader.session(id), estimates)
    },
    async remove({ params }) {
      const { id } = await ownSession(context, params)
      await sessions.remove(id)
      return undefined
    },
  }
}

/** The newest prompt and its answer so far. */
async function lastTurn(
  reader: StoreReader,
  session: Session,
): Promise<Pick<ChatSourceOptions, "promptID" | "past">> {
  const { id: sessionID, revert } = session
  const waiting = (await reader.inbox(sessionID)).findLast(({ type }) => type === "prompt")
  if (waiting) return { promptID: waiting.id }
  const mark = revert && (await findMessage(reader, sessionID, revert.messageID))
  const page = await reader.history(sessionID, {
    take: "end",
    limit: turnMax,
    ...(mark && { to: mark.position + 1 }),
  })
  const items = visibleItems(page.items, revert)
  const promptID = promptBefore(items)?.promptID ?? parentOf(items.at(-1))
  if (promptID === undefined) {
    throw new StemmaError("not_found", `Session ${sessionID} has no messages yet.`)
  }
  const first = items.findIndex(({ message }) => message.id === promptID)
  return { promptID, past: items.slice(Math.max(0, first)) }
}

/** The items without those that a revert hides. */
async function withoutReverted(
  reader: StoreReader,
  { id, revert }: Session,
  items: readonly HistoryItem[],
): Promise<readonly HistoryItem[]> {
  const mark = revert && (await findMessage(reader, id, revert.messageID))
  return visibleItems(items, revert, mark && { position: mark.position })
}

function parentOf(item: HistoryItem | undefined): string | undefined {
  return item?.message.role === "assistant" ? item.message.parentID : undefined
}

function serveChat(context: ServerContext, call: Call, options: ChatSourceOptions): Promise<Response> {
  const headers = { ...call.headers, "x-session-id": options.sessionID, "x-message-id": options.promptID }
  return context.streams.serve({ ...call, headers }, new ChatSource(options), {
    format,
    isLast: ({ chat }) => chat.type === "done",
    failure: ({ code, message }): ChatEvent => ({ type: "error", name: code, message }),
  })
}

/** The session, if it belongs to the agent. Sessions of other agents count as not found. */
async function ownSession(
  { stemma }: ServerContext,
  { id, sid }: { id: string; sid: string },
): Promise<Session> {
  const session = await stemma.reader.session(sid)
  if (session.agent === id && session.parentID === undefined) return session
  throw new StemmaError("not_found", `The agent ${id} has no session ${sid}.`)
}

async function findOwnSession(
  context: ServerContext,
  agent: string,
  { sessionId, sessionKey }: { sessionId?: string | undefined; sessionKey?: string | undefined },
): Promise<Session> {
  if (sessionId !== undefined) return ownSession(context, { id: agent, sid: sessionId })
  if (sessionKey === undefined) throw new StemmaError("invalid", "Send a sessionId or a sessionKey.")
  checkKey(sessionKey)
  const found = await sessionByKey(context, agent, sessionKey)
  if (found) return found
  throw new StemmaError("not_found", `The agent ${agent} has no session with that key.`)
}

async function sessionFor(
  context: ServerContext,
  agent: string,
  { sessionId, sessionKey }: { sessionId?: string | undefined; sessionKey?: string | undefined },
): Promise<SessionHandle> {
  const { sessions } = context.stemma
  if (sessionId !== undefined) {
    const session = await ownSession(context, { id: agent, sid: sessionId })
    if (sessionKey !== undefined && session.key !== sessionKey) {
      throw new StemmaError("invalid", "sessionId and sessionKey name different sessions. Send one of them.")
    }
    return sessions.get(session.id)
  }
  if (sessionKey === undefined) return sessions.create({ agent })
  checkKey(sessionKey)
  for (let attempt = 0; ; attempt++) {
    const found = await sessionByKey(context, agent, sessionKey)
    if (found) {
      // A new message brings an archived session back.
      if (found.time.archived !== undefined) await sessions.archive(found.id, { archived: false })
      return sessions.get(found.id)
    }
    try {
      return await sessions.create({ agent, key: sessionKey })
    } catch (error) {
      // Another request created the session at the same time.
      if (!StemmaError.is(error, "conflict") || attempt > 2) throw error
    }
  }
}

/** Keys that start with `current:` are Stemma's own. A caller that only names a channel must not reach them. */
function checkKey(key: string): void {
  if (key.startsWith("current:")) {
    throw new StemmaError("invalid", "A sessionKey cannot start with `current:`. Choose another name.")
  }
}

async function sessionByKey(
  { stemma }: ServerContext,
  agent: string,
  key: string,
): Promise<Session | undefined> {
  return (await stemma.sessions.list({ key, agent, limit: 1 })).items[0]
}

async function checkAgent({ stemma }: ServerContext, name: string): Promise<void> {
  const { loaded } = await (await stemma.project()).setup()
  const agent = loaded.agents.get(name)
  if (agent && !agent.hidden) return
  const names = [...loaded.agents.values()].filter(({ hidden }) => !hidden).map((one) => one.name)
  throw new StemmaError("not_found", `There is no agent ${name}. The agents are: ${names.join(", ")}.`)
}
