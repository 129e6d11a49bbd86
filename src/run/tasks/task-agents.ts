import type { Agent } from "../../config/agents/agent.ts"
import { toolSwitches } from "../../config/agents/agents.ts"
import type { LoadedConfig } from "../../config/loaded.ts"
import { isWhollyDenied } from "../../session/index.ts"
import type { TaskAgent } from "../../tools/tool.ts"
import { childSwitches } from "../permission/permission-check.ts"
import { isUsable } from "../step/tools/toolbox.ts"

/** Tools that do not change files. */
const readOnlyTools = new Set([
  "read",
  "glob",
  "grep",
  "list",
  "webfetch",
  "todoread",
  "todowrite",
  "recall",
  "skill",
])

/** True if the agent can run tasks. */
export function isSubagent({ mode, hidden }: Agent): boolean {
  return mode !== "primary" && !hidden
}

/** The agents that can run tasks, each with the tools that it has in a child session. */
export function taskAgents(loaded: LoadedConfig, toolNames: readonly string[]): TaskAgent[] {
  const { config, rules } = loaded
  return [...loaded.agents.values()].filter(isSubagent).map(({ name, description, tools, permission }) => {
    const level = {
      rulesets: [rules, permission],
      tools: toolSwitches(config.tools, childSwitches(config), tools),
    }
    const usable = toolNames.filter((tool) => isUsable(tool, level))
    // Where `edit` is denied, the shell runs read-only commands only.
    const writes =
      !isWhollyDenied("edit", ...level.rulesets) && usable.some((tool) => !readOnlyTools.has(tool))
    return { name, ...(description !== undefined && { description }), tools: usable, writes }
  })
}
