import { StemmaError } from "../../protocol/index.ts"
import type {
  sessionPromptRoutes,
  sessionReadRoutes,
  sessionRoutes,
  sessionUpdateRoutes,
} from "../../protocol/routes/index.ts"
import type { AppendInput, PromptOptions, PromptPart, PromptRun } from "../../run/index.ts"
import type { ServerContext } from "../http/call.ts"
import type { Handlers } from "../http/mount.ts"
import { waitForEarlyRefusal } from "../http/slow-answer.ts"
import { sessionDiff } from "../session-diff.ts"
import { serveSession } from "./session-stream.ts"
import { readSnapshot } from "./snapshot.ts"

export function sessionHandlers(context: ServerContext): Handlers<typeof sessionRoutes> {
  return { ...readingHandlers(context), ...talkingHandlers(context), ...changingHandlers(context) }
}

function readingHandlers(server: ServerContext): Handlers<typeof sessionReadRoutes> {
  const { stemma, presence } = server
  const { sessions, reader } = stemma
  return {
    info: ({ params }) => reader.session(params.id),
    async status({ params }) {
      await reader.session(params.id)
      return stemma.status(params.id)
    },
    history: ({ params, query }) => reader.history(params.id, query),
    snapshot: ({ params, query }) => readSnapshot(reader, params.id, query.last ?? 100),
    changes({ params, query: { since, limit, tree } }) {
      const scope = tree ? { treeID: params.id } : { sessionID: params.id }
      return reader.changes(scope, since, limit === undefined ? {} : { limit })
    },
    event: ({ params, query }, call) => serveSession(server, call, { ...query, id: params.id }),
    tree: ({ params }) => sessions.tree(params.id),
    parents: ({ params }) => sessions.parents(params.id),
    async children({ params, query }) {
      await reader.session(params.id)
      return sessions.children(params.id, query)
    },
    todos: async ({ params }) => (await sessions.get(params.id)).todos(),
    async questions({ params }) {
      presence.touch()
      return (await sessions.get(params.id)).questions()
    },
    context: async ({ params }) => (await sessions.get(params.id)).context(),
    usage: async ({ params }) => (await sessions.get(params.id)).usage(),
    budget: ({ params }) => budgetOf(server, params.id),
    statistics: ({ params }) => sessions.stats(params.id),
    diff: ({ params, query }) => sessionDiff(reader, params.id, query.messageID),
    transcript: async ({ params, query }) => (await sessions.get(params.id)).transcript(query),
    previewShare: ({ params, query }) => server.previewShare(params.id, query),
  }
}

function talkingHandlers(server: ServerContext): Handlers<typeof sessionPromptRoutes> {
  const { sessions, permissions } = server.stemma
  const send = async (id: string, body: { text?: string; parts?: PromptPart[] } & PromptOptions) => {
    server.checkOpen()
    const { text, parts = [], ...prompt } = body
    if ((text === undefined) === (body.parts === undefined)) {
      throw new StemmaError("invalid", "Send either `text` or `parts`, not both.")
    }
    const run = sessions.send(id, { parts: text === undefined ? parts : [{ type: "text", text }], prompt })
    await run.admitted
    // Wrapped in an object, because a PromptRun is a promise of the reply and `return run` would await it.
    return { run }
  }
  return {
    async prompt({ params, body }) {
      const { run } = await send(params.id, body as PromptOptions)
      return accepted(run)
    },
    async ask({ params, body }) {
      const { run } = await send(params.id, body as PromptOptions)
      const answer = run.then(({ message, parts, text }) => ({ message, parts, text }))
      return { answer: server.afterEvents(params.id, answer) }
    },
    async command({ params, body }) {
      server.checkOpen()
      const { name, args = "", ...options } = body
      return accepted((await sessions.get(params.id)).command(name, args, options as PromptOptions))
    },
    async shell({ params, body: { command, ...options } }) {
      server.checkOpen()
      const session = await sessions.get(params.id)
      return waitForEarlyRefusal(server.afterEvents(params.id, session.shell(command, options)))
    },
    async append({ params, body }) {
      server.checkOpen()
      const session = await sessions.get(params.id)
      return server.afterEvents(params.id, session.append(body as AppendInput))
    },
    async abort({ params, body }) {
      await (await sessions.get(params.id)).abort(body?.reason)
      return undefined
    },
    async compact({ params, body }) {
      server.checkOpen()
      const session = await sessions.get(params.id)
      return waitForEarlyRefusal(server.afterEvents(params.id, session.compact(body?.instructions)))
    },
    async reply({ params, body }) {
      await permissions.reply(params.id, params.permissionID, body)
      return undefined
    },
  }
}

function changingHandlers(server: ServerContext): Handlers<typeof sessionUpdateRoutes> {
  const { sessions } = server.stemma
  return {
    update: ({ params, body }) => sessions.update(params.id, body),
    async setBudget({ params, body }) {
      await sessions.update(params.id, body)
      return budgetOf(server, params.id)
    },
    remove: ({ params }) => sessions.remove(params.id),
    fork: async ({ params, body = {} }) => (await sessions.fork(params.id, body)).info(),
    revert: ({ params, body }) => server.afterEvents(params.id, sessions.revert(params.id, body)),
    unrevert: ({ params }) => server.afterEvents(params.id, sessions.unrevert(params.id)),
    archive: ({ params, body = {} }) => sessions.archive(params.id, body),
    async redact({ params, body: { all, ...target } }) {
      if (target.messageID === undefined && !all) {
        throw new StemmaError("invalid", "Send a messageID, or `all: true` for the whole session.")
      }
      return sessions.redact({ sessionID: params.id, ...target })
    },
    share: ({ params, body = {} }) => server.share(params.id, body),
    unshare: ({ params }) => sessions.unshare(params.id),
  }
}

async function accepted(run: PromptRun): Promise<{ messageID: string }> {
  await run.admitted
  return { messageID: await run.messageID }
}

async function budgetOf({ stemma }: ServerContext, id: string) {
  const { budget: own, directory } = await stemma.reader.session(id)
  const { loaded } = await (await stemma.project(directory)).setup()
  const budget = own ?? loaded.config.budget ?? null
  const { tree } = await (await stemma.sessions.get(id)).usage()
  return { budget, spent: tree.cost, left: budget === null ? null : Math.max(0, budget - tree.cost) }
}
