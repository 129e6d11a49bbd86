import { stat } from "node:fs/promises"
import { join } from "node:path"
import { StemmaError } from "../../../../protocol/index.ts"
import type { Project } from "../../../../run/index.ts"
import type { ServerContext } from "../../../http/call.ts"
import type { Handlers } from "../../../http/mount.ts"
import type { projectRoutes } from "../../routes/project-routes.ts"
import { projectOf } from "../../routes/request-project.ts"
import { toWireCommand, toWireSkill } from "../../wire/project/to-wire-project.ts"
import type { WireProject } from "../../wire/wire-directory.ts"
import { readyModels } from "./ready-models.ts"
import { vcsDiff, vcsOf } from "./vcs-diff.ts"

export function projectHandlers(server: ServerContext): Handlers<typeof projectRoutes> {
  return {
    list: async ({ query }, call) => [await toWireProject(await projectOf(server, call, query))],
    async directories({ params, query }, call) {
      const { loaded } = await (await projectOf(server, call, query)).setup()
      const { id, root } = loaded.project
      if (id === params.projectID) return [{ directory: root }]
      throw new StemmaError("not_found", `The project of this directory is ${id}. Name that project.`)
    },
    async provider({ query }, call) {
      const setup = await (await projectOf(server, call, query)).setup()
      const { providers, default: defaults } = await readyModels(setup)
      return { all: providers, default: defaults, connected: providers.map(({ id }) => id) }
    },
    async command({ query }, call) {
      const { loaded, mask } = await (await projectOf(server, call, query)).setup()
      return [...loaded.commands.values()].map((one) => toWireCommand(one, mask))
    },
    async skill({ query }, call) {
      const { loaded, mask } = await (await projectOf(server, call, query)).setup()
      return loaded.skills.map((one) => toWireSkill(one, mask))
    },
    vcs: async ({ query }, call) => vcsOf(await projectOf(server, call, query)),
    vcsDiff: async ({ query }, call) => vcsDiff(await projectOf(server, call, query), query),
  }
}

export async function toWireProject(project: Project): Promise<WireProject> {
  const { id, root } = (await project.setup()).loaded.project
  const [found, git] = await Promise.all([stat(root), stat(join(root, ".git")).catch(() => undefined)])
  return {
    id,
    worktree: root,
    ...(git && { vcs: "git" as const }),
    time: { created: Math.floor(found.birthtimeMs), updated: Math.floor(found.mtimeMs) },
    sandboxes: [],
  }
}
