import type { Project } from "../../../run/index.ts"
import type { SearchContext } from "../../../tools/search/found-files.ts"
import type { Call, ServerContext } from "../../http/call.ts"
import type { Handlers } from "../../http/mount.ts"
import { findNames } from "../files/find-names.ts"
import { findText } from "../files/find-text.ts"
import { readRules } from "../files/read-rules.ts"
import { listDirectory, readFileContent } from "../files/workspace-files.ts"
import type { fileRoutes } from "../routes/directory-routes.ts"
import { projectOf } from "../routes/request-project.ts"

export const namesStandard = 100
/** Short, because a person who types sends the next search with the next letter. */
const searchMs = 4000

/** The routes for the files of a project, as far as its agents may read them. */
export function fileHandlers(server: ServerContext): Handlers<typeof fileRoutes> {
  return {
    async text({ query }, call) {
      const project = await projectOf(server, call, query)
      const { mask } = await project.setup()
      return findText(query.pattern, { context: await searchContext(project, call), mask })
    },
    async files({ query }, call) {
      const { dirs = true, type, limit = namesStandard } = query
      const context = await searchContext(await projectOf(server, call, query), call)
      const kinds = type ? [type] : dirs ? (["file", "directory"] as const) : (["file"] as const)
      return findNames(query.query, { context, kinds, limit })
    },
    async list({ query }, call) {
      const project = await projectOf(server, call, query)
      return listDirectory(project, { path: query.path, context: await searchContext(project, call) })
    },
    read: async ({ query }, call) => readFileContent(await projectOf(server, call, query), query.path),
  }
}

export async function searchContext(project: Project, call: Call): Promise<SearchContext> {
  const { environment } = await project.setup()
  const { workspace } = project
  const signal = AbortSignal.any([call.request.signal, AbortSignal.timeout(searchMs)])
  return { workspace, environment, signal, decide: await readRules(project) }
}
