import { StemmaError } from "../../../protocol/index.ts"
import type { Project } from "../../../run/index.ts"
import { evaluate } from "../../../session/index.ts"
import { mayRead, type SearchContext } from "../../../tools/search/found-files.ts"
import type { Wanted } from "../../../tools/tool.ts"
import type { ResolvedPath } from "../../../workspace/workspace.ts"

/**
 * The permissions of the project's default agent: a client on the network sees only what that agent may read without
 * asking.
 */
export async function readRules(project: Project): Promise<(wanted: Wanted) => "allow" | "ask" | "deny"> {
  const { loaded } = await project.setup()
  const own = loaded.agents.get(loaded.config.default_agent)?.permission ?? []
  return ({ permission, patterns }) => {
    const actions = patterns.map((pattern) => evaluate(permission, pattern, loaded.rules, own).action)
    if (actions.includes("deny")) return "deny"
    return actions.every((action) => action === "allow") ? "allow" : "ask"
  }
}

/** Resolves a path that a client may read: inside the workspace, and readable for the agent without asking. */
export async function readableLocation(project: Project, path: string): Promise<ResolvedPath> {
  const decide = await readRules(project)
  const location = await project.workspace.resolve(path).catch(() => {
    // The reason is left out, because it would reveal which files exist outside the project.
    throw new StemmaError("invalid", "That path cannot be resolved. Name a path inside the project.")
  })
  if (
    location.external ||
    location.forbidden ||
    (location.name !== "." && !mayRead(location.name, { decide }))
  ) {
    throw new StemmaError("denied", "That path is outside the project, or its rules do not allow reading it.")
  }
  return location
}

/** The directory of a project as the root of a search. */
export async function searchRoot({ workspace }: Pick<SearchContext, "workspace">): Promise<ResolvedPath> {
  return workspace.resolve(workspace.directory)
}
