import type { ServerContext } from "../call.ts"
import type { Handlers } from "../mount.ts"
import { findNames } from "./find-names.ts"
import { findText } from "./find-text.ts"
import type { fileRoutes } from "./place-routes.ts"
import { readRules } from "./read-rules.ts"
import { projectOf } from "./request-project.ts"
import { listDirectory, readShown } from "./workspace-files.ts"

/** The files of a project, as far as its agents may see them. */
export function fileHandlers(server: ServerContext): Handlers<typeof fileRoutes> {
  const searching = async (
    ...[call, query]: [Parameters<typeof projectOf>[1], Parameters<typeof projectOf>[2]]
  ) => {
    const project = await projectOf(server, call, query)
    const { environment, redact } = await project.setup()
    const { workspace } = project
    const { signal } = call.request
    return { context: { workspace, environment, signal, decide: await readRules(project) }, redact }
  }
  return {
    async text({ query }, call) {
      const { context, redact } = await searching(call, query)
      return findText(query.pattern, { context, redact })
    },
    async files({ query: { query: wanted, dirs = true, type, limit = 100, ...rest } }, call) {
      const { context } = await searching(call, rest)
      const kinds = type ? [type] : dirs ? (["file", "directory"] as const) : (["file"] as const)
      return findNames(wanted, { context, kinds, limit })
    },
    async list({ query }, call) {
      const { context } = await searching(call, query)
      return listDirectory(await projectOf(server, call, query), { path: query.path, context })
    },
    async read({ query }, call) {
      return readShown(await projectOf(server, call, query), query.path)
    },
  }
}
