import type { Agent } from "../../config/agents/agent.ts"
import { toolSwitches } from "../../config/agents/agents.ts"
import type { LoadedConfig } from "../../config/loaded.ts"
import { isWhollyDenied } from "../../session/index.ts"
import type { TaskAgent } from "../../tools/tool.ts"
import { childSwitches } from "../permission/permission-check.ts"
import { isUsable } from "../step/tools/toolbox.ts"

/** Tools that change no files. */
const reading = new Set([
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

/** Whether tasks may be given to an agent. */
export function isSubagent({ mode, hidden }: Agent): boolean {
  return mode !== "primary" && !hidden
}

/** The agents that tasks can be given to, with the tools that each has in a session below another one. */
export function taskAgents(loaded: LoadedConfig, toolNames: readonly string[]): TaskAgent[] {
  const { config, rules } = loaded
  return [...loaded.agents.values()].filter(isSubagent).map(({ name, description, tools, permission }) => {
    const level = {
      rulesets: [rules, permission],
      tools: toolSwitches(config.tools, childSwitches(config), tools),
    }
    const usable = toolNames.filter((tool) => isUsable(tool, level))
    // With editing denied, commands only read too.
    const writes = !isWhollyDenied("edit", ...level.rulesets) && usable.some((tool) => !reading.has(tool))
    return { name, ...(description !== undefined && { description }), tools: usable, writes }
  })
}
