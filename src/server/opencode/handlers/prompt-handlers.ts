import {
  ascendingIDs,
  type HistoryItem,
  type PartBody,
  StemmaError,
  systemClock,
} from "../../../protocol/index.ts"
import { offeredAgent, type PromptRun } from "../../../run/index.ts"
import type { ServerContext } from "../../http/call.ts"
import type { Handlers } from "../../http/mount.ts"
import { waitForEarlyRefusal } from "../../http/slow-answer.ts"
import { readRules } from "../files/read-rules.ts"
import { afterEvents } from "../live/after-events.ts"
import type { OpenReaders } from "../live/open-readers.ts"
import { sendWaitingPrompt } from "../live/waiting-prompts.ts"
import type { sessionRoutes } from "../routes/session-routes.ts"
import { withBusyError } from "../wire/errors.ts"
import type { WireItem, WireReply } from "../wire/wire-message.ts"
import { wireItems } from "./history.ts"
import { initRun } from "./project/init-prompt.ts"
import { modelText, type PromptBody, promptOptions } from "./prompt-bodies.ts"

export type PromptRoute = "prompt" | "promptAsync" | "command" | "init" | "shell" | "abort" | "summarize"

export function promptHandlers(
  server: ServerContext,
  readers: OpenReaders,
): Pick<Handlers<typeof sessionRoutes>, PromptRoute> {
  const { sessions } = server.stemma
  return {
    async prompt({ params: { sessionID }, body }) {
      server.checkOpen()
      if (body.noReply) return { answer: Promise.resolve(await appendPrompt(server, sessionID, body)) }
      const { run } = await admitPrompt(server, sessionID, body)
      await sendWaitingPrompt(server, readers, { sessionID, messageID: await run.messageID })
      return { answer: afterEvents(server, sessionID, reply(server, run)) }
    },
    async promptAsync({ params: { sessionID }, body }) {
      server.checkOpen()
      if (body.noReply) await appendPrompt(server, sessionID, body)
      else {
        const { run } = await admitPrompt(server, sessionID, body)
        await sendWaitingPrompt(server, readers, { sessionID, messageID: await run.messageID })
      }
      return undefined
    },
    async command({ params: { sessionID }, body }) {
      server.checkOpen()
      const { command, arguments: args, parts: _, ...options } = body
      const run = (await sessions.get(sessionID)).command(command, args, options)
      await run.admitted
      await sendWaitingPrompt(server, readers, { sessionID, messageID: await run.messageID })
      return { answer: afterEvents(server, sessionID, reply(server, run)) }
    },
    async init({ params: { sessionID }, body = {} }) {
      server.checkOpen()
      const { messageID, modelID, providerID } = body
      const model = providerID && modelID ? modelText({ providerID, modelID }) : undefined
      const { run } = await initRun(server, sessionID, { messageID, model })
      await sendWaitingPrompt(server, readers, { sessionID, messageID: await run.messageID })
      const done = run.then(() => true)
      return { answer: afterEvents(server, sessionID, done) }
    },
    async shell({ params: { sessionID }, body: { command, model, ...options } }) {
      server.checkOpen()
      const session = await sessions.get(sessionID)
      const done = session.shell(command, { ...options, ...(model && { model: modelText(model) }) })
      const answer = withBusyError(sessionID, done).then((item) => wireItem(server, item))
      return waitForEarlyRefusal(afterEvents(server, sessionID, answer))
    },
    async abort({ params }) {
      await (await sessions.get(params.sessionID)).abort()
      return true
    },
    async summarize({ params: { sessionID } }) {
      server.checkOpen()
      const done = compacted((await sessions.get(sessionID)).compact())
      return waitForEarlyRefusal(afterEvents(server, sessionID, done))
    },
  }
}

/**
 * As in the OpenCode server, the call succeeds for a session that is too short, and for a summary that failed: its message
 * has the error.
 */
async function compacted(work: Promise<unknown>): Promise<true> {
  await work.catch((error: unknown) => {
    const isTold = StemmaError.is(error, "invalid") || StemmaError.is(error, "unavailable")
    if (!isTold || (error.code === "unavailable" && error.details?.messageID === undefined)) throw error
  })
  return true
}

/**
 * Admits a prompt. The run is wrapped in an object, because it is a promise of the reply and must not be awaited here.
 */
async function admitPrompt(
  { stemma }: ServerContext,
  sessionID: string,
  body: PromptBody,
): Promise<{ run: PromptRun }> {
  const run = (await stemma.sessions.get(sessionID)).prompt(body.parts, promptOptions(body))
  await run.admitted
  return { run }
}

function reply(server: ServerContext, run: PromptRun): Promise<WireReply> {
  return run.then(async ({ message, parts }) => {
    const item = { message, parts, position: 0, version: 0, sealed: true }
    return (await wireItem(server, item)) as WireReply
  })
}

/** Adds a message that gets no answer. */
async function appendPrompt(server: ServerContext, sessionID: string, body: PromptBody): Promise<WireItem> {
  const { stemma } = server
  if (body.parts.some(({ type }) => type === "subtask")) {
    throw new StemmaError("invalid", "A subtask needs a reply. Leave out noReply.")
  }
  const session = await stemma.sessions.get(sessionID)
  const project = await stemma.project((await session.info()).directory)
  if (body.agent !== undefined) offeredAgent(await project.setup(), body.agent)
  const access = { workspace: project.workspace, decide: await readRules(project) }
  const newID = ascendingIDs(systemClock)
  const given = body.parts.map((part): PartBody => ({ ...part, id: part.id ?? newID("part") }))
  const parts = await stemma.sessions.storeFiles(given, access)
  const { messageID: id } = body
  const added = session.append({ role: "user", parts, ...(id !== undefined && { id }) })
  return wireItem(server, await server.afterEvents(sessionID, withBusyError(sessionID, added)))
}

async function wireItem(server: ServerContext, item: HistoryItem): Promise<WireItem> {
  return (await wireItems(server, item.message.sessionID, [item]))[0]!
}
