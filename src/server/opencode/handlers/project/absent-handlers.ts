import type { Handlers } from "../../../http/mount.ts"
import type { absentRoutes } from "../../routes/project-routes.ts"

/** Features of the OpenCode server that Stemma does not have. */
export const absentHandlers: Handlers<typeof absentRoutes> = {
  question: () => [],
  lsp: () => [],
  mcp: () => ({}),
  formatter: () => [],
  auth: () => ({}),
  capabilities: () => ({ backgroundSubagents: false }),
  console: () => ({ consoleManagedProviders: [], switchableOrgCount: 0 }),
  workspace: () => [],
  workspaceStatus: () => [],
  resource: () => ({}),
}
