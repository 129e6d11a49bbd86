import { z } from "zod"
import { route } from "../../../protocol/routes/index.ts"
import { queryCount, queryLimit } from "../../../protocol/routes/shapes.ts"
import * as Located from "../wire/project/wire-location.ts"
import {
  NoList,
  NoRecord,
  WireCapabilities,
  WireCommand,
  WireConsole,
  WireHealth,
  WireProjectDirectories,
  WireProviderList,
  WireSkill,
  WireVcs,
  WireVcsDiff,
} from "../wire/project/wire-project.ts"
import { WireProject } from "../wire/wire-directory.ts"
import { directoryQuery } from "./session-routes.ts"

/** A route that reads something of a directory. */
const get = <const P extends string, A extends z.ZodType>(path: P, answer: A, summary: string) =>
  route({ method: "GET", path, summary, query: directoryQuery, answer })

export const globalRoutes = {
  health: route({
    method: "GET",
    path: "/global/health",
    summary: "Returns the version of the server.",
    answer: WireHealth,
  }),
  event: route({
    method: "GET",
    path: "/global/event",
    summary: "Streams the events of all sessions of all directories, each with its directory and project.",
    query: directoryQuery,
    kind: "events",
  }),
}

export const projectRoutes = {
  list: get("/project", z.array(WireProject), "Lists the project of a directory, and no others."),
  directories: route({
    method: "GET",
    path: "/project/:projectID/directories",
    summary: "Returns the work tree of the project of a directory.",
    params: z.object({ projectID: z.string().min(1).max(256) }),
    query: directoryQuery,
    answer: WireProjectDirectories,
    errors: ["not_found"],
  }),
  provider: get(
    "/provider",
    WireProviderList,
    "Lists the providers that can answer now, the provider of the default model first, without keys.",
  ),
  command: get("/command", z.array(WireCommand), "Lists the commands that the config defines."),
  skill: get("/skill", z.array(WireSkill), "Lists the skills."),
  vcs: get("/vcs", WireVcs, "Returns the branch of the repository. Runs no program."),
  vcsDiff: route({
    method: "GET",
    path: "/vcs/diff",
    summary:
      "Lists the files that differ from the last commit, or from the default branch. Files that need permission to be read are left out.",
    query: directoryQuery.extend({
      mode: z.enum(["git", "branch"]),
      context: queryCount.optional().describe("How many unchanged lines surround a change; 3 if absent"),
    }),
    answer: z.array(WireVcsDiff),
    errors: ["unavailable"],
  }),
}

/** Features of the OpenCode server that Stemma does not have. The answers say so. */
export const absentRoutes = {
  question: get("/question", NoList, "Always empty: agents ask for permission only."),
  lsp: get("/lsp", NoList, "Always empty: Stemma starts no language servers."),
  mcp: get("/mcp", NoRecord, "Always empty: Stemma starts no MCP servers."),
  formatter: get("/formatter", NoList, "Always empty: Stemma runs no formatters."),
  auth: get("/provider/auth", NoRecord, "Always empty: keys come from the environment and the config."),
  capabilities: get("/experimental/capabilities", WireCapabilities, "Returns that tasks block their parent."),
  console: get("/experimental/console", WireConsole, "Always empty: there is no account."),
  workspace: get("/experimental/workspace", NoList, "Always empty: sessions work in directories."),
  workspaceStatus: get("/experimental/workspace/status", NoList, "Always empty."),
  resource: get("/experimental/resource", NoRecord, "Always empty: Stemma starts no MCP servers."),
}

const locationQuery = directoryQuery.extend({ "location[directory]": directoryQuery.shape.directory })
const located = <const P extends string, A extends z.ZodType>(path: P, answer: A, summary: string) =>
  route({ method: "GET", path, summary, query: locationQuery, answer })

/** The routes below `/api` that OpenCode's terminal calls. */
export const locationRoutes = {
  info: located("/api/location", Located.WireLocation, "Returns the directory and its project."),
  agent: located("/api/agent", Located.locatedList(Located.WireLocatedAgent), "Lists the agents."),
  command: located(
    "/api/command",
    Located.locatedList(Located.WireLocatedCommand),
    "Lists the commands that the config defines.",
  ),
  model: located(
    "/api/model",
    Located.locatedList(Located.WireLocatedModel),
    "Lists the models that can answer now.",
  ),
  provider: located(
    "/api/provider",
    Located.locatedList(Located.WireLocatedProvider),
    "Lists the providers that can answer now, without keys.",
  ),
  skill: located("/api/skill", Located.locatedList(WireSkill), "Lists the skills."),
  integration: located("/api/integration", Located.locatedList(z.never()), "Always empty."),
  reference: located("/api/reference", Located.locatedList(z.never()), "Always empty."),
  find: route({
    method: "GET",
    path: "/api/fs/find",
    summary: "Finds files and directories by name, the best matches first.",
    query: locationQuery.extend({
      query: z.string().max(1000),
      type: z.enum(["file", "directory"]).optional(),
      limit: queryLimit(200).optional(),
    }),
    answer: Located.locatedList(Located.WireEntry),
    errors: ["unavailable"],
  }),
}
