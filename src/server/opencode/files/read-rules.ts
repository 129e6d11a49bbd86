import { StemmaError } from "../../../protocol/index.ts"
import type { Project } from "../../../run/index.ts"
import { evaluate } from "../../../session/index.ts"
import { mayRead, type SearchContext } from "../../../tools/search/found-files.ts"
import type { Wanted } from "../../../tools/tool.ts"
import type { ResolvedPath } from "../../../workspace/workspace.ts"

/** What the project's own agent may do without asking: whoever asks over a network is shown no more than it. */
export async function readRules(project: Project): Promise<(wanted: Wanted) => "allow" | "ask" | "deny"> {
  const { loaded } = await project.setup()
  const own = loaded.agents.get(loaded.config.default_agent)?.permission ?? []
  return ({ permission, patterns }) => {
    const actions = patterns.map((pattern) => evaluate(permission, pattern, loaded.rules, own).action)
    if (actions.includes("deny")) return "deny"
    return actions.every((action) => action === "allow") ? "allow" : "ask"
  }
}

/** Where a path leads, if that may be shown: inside the workspace, and nothing that an agent would have to ask for. */
export async function shownPlace(project: Project, path: string): Promise<ResolvedPath> {
  const decide = await readRules(project)
  const location = await project.workspace.resolve(path).catch(() => {
    // Why is not said: it would tell what there is outside.
    throw new StemmaError("invalid", "That path leads nowhere. Name one inside the project.")
  })
  if (
    location.external ||
    location.forbidden ||
    (location.name !== "." && !mayRead(location.name, { decide }))
  ) {
    throw new StemmaError("denied", "That path is outside the project, or its rules do not let it be read.")
  }
  return location
}

/** The directory of a project, to be searched. */
export async function searchedRoot({ workspace }: Pick<SearchContext, "workspace">): Promise<ResolvedPath> {
  return workspace.resolve(workspace.directory)
}
