import { StemmaError } from "../../protocol/index.ts"
import type { directoryRoutes, serverRoutes } from "../../protocol/routes/index.ts"
import { version } from "../../protocol/version.ts"
import { type Call, directoryOf, type ServerContext } from "../http/call.ts"
import type { Handlers } from "../http/mount.ts"
import { metricsContentType } from "../telemetry/metrics.ts"

/** The routes for the agents, commands and models of a directory. */
export function directoryHandlers({ stemma }: ServerContext): Handlers<typeof directoryRoutes> {
  const setupOf = async (call: Call, query: { directory?: string | undefined }) =>
    (await stemma.project(directoryOf(call, query))).setup()
  return {
    async project({ query }, call) {
      const { loaded, models } = await setupOf(call, query)
      const { id, directory, root, trusted } = loaded.project
      return {
        id,
        directory,
        root,
        ...(trusted !== undefined && { isTrusted: trusted }),
        model: loaded.config.model ?? (await models.standard()),
        notices: [...loaded.notices],
      }
    },
    async agents({ query }, call) {
      const { loaded } = await setupOf(call, query)
      return [...loaded.agents.values()].map(({ name, description, mode, hidden, model }) => ({
        name,
        mode,
        isHidden: hidden ?? false,
        ...(description !== undefined && { description }),
        ...(model !== undefined && { model }),
      }))
    },
    async commands({ query }, call) {
      const { loaded } = await setupOf(call, query)
      return [...loaded.commands.values()].map(({ name, description, agent, subtask, trusted }) => ({
        name,
        isTrusted: trusted,
        ...(description !== undefined && { description }),
        ...(agent !== undefined && { agent }),
        ...(subtask !== undefined && { isTask: subtask }),
      }))
    },
    async providers({ query }, call) {
      const { models } = await setupOf(call, query)
      return (await models.list()).map((one) => ({ ...one, keyNames: [...one.keyNames] }))
    },
    async blob({ params }, call) {
      const bytes = await stemma.reader.blobs.get(params.hash)
      const headers = {
        ...call.headers,
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="${params.hash.slice(0, 16)}"`,
        "cache-control": "private, max-age=31536000, immutable",
      }
      return new Response(bytes as Uint8Array<ArrayBuffer>, { headers })
    },
  }
}

/** The routes for the server itself. */
export function serverHandlers(context: ServerContext): Handlers<typeof serverRoutes> {
  return {
    health: () => ({ status: context.isDraining() ? "draining" : "ok", version }),
    async ready() {
      context.checkOpen()
      try {
        await context.stemma.reader.cursor()
      } catch (cause) {
        // Anyone may call this route, and the store's own error may name a path.
        const why = "The store of this server does not answer. GET /sessions with the token says why."
        throw new StemmaError("unavailable", why, { cause })
      }
      return { status: "ok", version }
    },
    metrics(_, call) {
      call.headers = { ...call.headers, "content-type": metricsContentType }
      return context.metrics()
    },
  }
}
