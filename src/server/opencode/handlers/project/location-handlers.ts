import type { Project } from "../../../../run/index.ts"
import type { Call, ServerContext } from "../../../http/call.ts"
import type { Handlers } from "../../../http/mount.ts"
import { findNames } from "../../files/find-names.ts"
import type { locationRoutes } from "../../routes/project-routes.ts"
import { projectOf } from "../../routes/request-project.ts"
import {
  toLocatedAgent,
  toLocatedCommand,
  toLocatedModel,
  toLocatedProvider,
} from "../../wire/project/to-wire-location.ts"
import { toWireCommand, toWireSkill } from "../../wire/project/to-wire-project.ts"
import type { WireLocation } from "../../wire/project/wire-location.ts"
import { toWireAgent } from "../../wire/to-wire-directory.ts"
import { namesStandard, searchContext } from "../file-handlers.ts"
import { readyModels } from "./ready-models.ts"

interface LocationQuery {
  directory?: string | undefined
  "location[directory]"?: string | undefined
}

/** The routes below `/api`. Each answer names the location that it belongs to. */
export function locationHandlers(server: ServerContext): Handlers<typeof locationRoutes> {
  const at = (call: Call, query: LocationQuery): Promise<Project> =>
    projectOf(server, call, { directory: query["location[directory]"] ?? query.directory })
  const list = async <T>(project: Project, data: T[]) => ({ location: await locationOf(project), data })
  return {
    info: async ({ query }, call) => locationOf(await at(call, query)),
    async agent({ query }, call) {
      const project = await at(call, query)
      const setup = await project.setup()
      const agents = [...setup.loaded.agents.values()].map((one) => toLocatedAgent(toWireAgent(one, setup)))
      return list(project, agents)
    },
    async command({ query }, call) {
      const project = await at(call, query)
      const { loaded, mask } = await project.setup()
      const commands = [...loaded.commands.values()].map((one) => toLocatedCommand(toWireCommand(one, mask)))
      return list(project, commands)
    },
    async model({ query }, call) {
      const project = await at(call, query)
      const { providers } = await readyModels(await project.setup())
      const models = providers.flatMap((one) => Object.values(one.models).map(toLocatedModel))
      return list(project, models)
    },
    async provider({ query }, call) {
      const project = await at(call, query)
      const { providers } = await readyModels(await project.setup())
      return list(project, providers.map(toLocatedProvider))
    },
    async skill({ query }, call) {
      const project = await at(call, query)
      const { loaded, mask } = await project.setup()
      return list(
        project,
        loaded.skills.map((one) => toWireSkill(one, mask)),
      )
    },
    integration: async ({ query }, call) => list(await at(call, query), []),
    reference: async ({ query }, call) => list(await at(call, query), []),
    async find({ query }, call) {
      const { type, limit = namesStandard } = query
      const project = await at(call, query)
      const kinds = type ? [type] : (["file", "directory"] as const)
      const names = await findNames(query.query, {
        context: await searchContext(project, call),
        kinds,
        limit,
      })
      const entries = names.map((path) => ({
        path,
        type: path.endsWith("/") ? ("directory" as const) : ("file" as const),
      }))
      return list(project, entries)
    },
  }
}

async function locationOf(project: Project): Promise<WireLocation> {
  const { id, root } = (await project.setup()).loaded.project
  return { directory: project.directory, project: { id, directory: root } }
}
