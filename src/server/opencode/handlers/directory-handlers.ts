import { stat } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { parseModelName } from "../../../models/registry.ts"
import type { ServerContext } from "../../http/call.ts"
import type { Handlers } from "../../http/mount.ts"
import type { directoryRoutes } from "../routes/directory-routes.ts"
import { projectOf } from "../routes/request-project.ts"
import { toWireAgent, toWireConfig, toWireProvider } from "../wire/to-wire-directory.ts"

/** The routes for the agents, config and models of a directory. */
export function directoryHandlers(server: ServerContext): Handlers<typeof directoryRoutes> {
  return {
    async agents({ query }, call) {
      const setup = await (await projectOf(server, call, query)).setup()
      return [...setup.loaded.agents.values()].map((agent) => toWireAgent(agent, setup))
    },
    async config({ query }, call) {
      const { loaded, mask } = await (await projectOf(server, call, query)).setup()
      return toWireConfig(loaded, mask)
    },
    async providers({ query }, call) {
      const { loaded, models } = await (await projectOf(server, call, query)).setup()
      const { config } = loaded
      const ready = (await models.list()).filter(({ isReady }) => isReady)
      const providers = ready.map((one) =>
        toWireProvider(one, { isConfigured: Object.hasOwn(config.provider, one.id) }),
      )
      const first = ready.flatMap((one) => (one.models[0] ? [[one.id, one.models[0].id] as const] : []))
      const { providerID, modelID } = parseModelName(config.model ?? (await models.standard()))
      return { providers, default: { ...Object.fromEntries(first), [providerID]: modelID } }
    },
    async path({ query }, call) {
      const { directory, workspace } = await projectOf(server, call, query)
      return { home: homedir(), state: "", config: "", worktree: workspace.root, directory }
    },
    async project({ query }, call) {
      const project = await projectOf(server, call, query)
      const { id, root } = (await project.setup()).loaded.project
      const [found, git] = await Promise.all([stat(root), stat(join(root, ".git")).catch(() => undefined)])
      return {
        id,
        worktree: root,
        ...(git && { vcs: "git" as const }),
        time: { created: Math.floor(found.birthtimeMs), updated: Math.floor(found.mtimeMs) },
        sandboxes: [],
      }
    },
  }
}
