import { homedir } from "node:os"
import type { ServerContext } from "../../http/call.ts"
import type { Handlers } from "../../http/mount.ts"
import type { directoryRoutes } from "../routes/directory-routes.ts"
import { projectOf } from "../routes/request-project.ts"
import { toWireAgent, toWireConfig } from "../wire/to-wire-directory.ts"
import { toWireProject } from "./project/project-handlers.ts"
import { defaultModel, readyModels } from "./project/ready-models.ts"

/** The routes for the agents, config and models of a directory. */
export function directoryHandlers(server: ServerContext): Handlers<typeof directoryRoutes> {
  return {
    async agents({ query }, call) {
      const setup = await (await projectOf(server, call, query)).setup()
      return [...setup.loaded.agents.values()].map((agent) => toWireAgent(agent, setup))
    },
    async config({ query }, call) {
      const setup = await (await projectOf(server, call, query)).setup()
      return toWireConfig(setup.loaded, { model: await defaultModel(setup), mask: setup.mask })
    },
    async providers({ query }, call) {
      return readyModels(await (await projectOf(server, call, query)).setup())
    },
    async path({ query }, call) {
      const { directory, workspace } = await projectOf(server, call, query)
      return { home: homedir(), state: "", config: "", worktree: workspace.root, directory }
    },
    project: async ({ query }, call) => toWireProject(await projectOf(server, call, query)),
  }
}
