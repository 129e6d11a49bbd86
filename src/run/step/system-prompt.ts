import type { Agent } from "../../config/agents/agent.ts"
import type { UserBody } from "../../protocol/index.ts"
import type { Workspace } from "../../workspace/workspace.ts"
import type { Setup } from "../project.ts"

export const lastStepReminder =
  "This is the last step of this run: tools are switched off. State what was done, what remains, and what to do next."

/** The texts of the system prompt. The texts that change least come first, so that providers can cache them. */
export function systemPrompt(options: {
  agent: Agent
  setup: Setup
  workspace: Workspace
  user: UserBody
  nowMs: number
  isLastStep: boolean
}): string[] {
  const { agent, setup, workspace, user } = options
  return [
    agent.prompt,
    ...setup.loaded.instructions.map(({ path, text }) => `Instructions from ${path}:\n${plainText(text)}`),
    environmentText(workspace, options.nowMs),
    user.system,
    options.isLastStep ? lastStepReminder : undefined,
  ].filter((text) => text !== undefined && text.trim() !== "") as string[]
}

/** Removes control characters, with which a project file could hide instructions from its readers. */
function plainText(text: string): string {
  return text.replace(/[\p{Cc}--[\n\t\r]]/gv, "")
}

function environmentText(workspace: Workspace, nowMs: number): string {
  const lines = [
    `Working directory: ${workspace.directory}`,
    ...(workspace.root === workspace.directory ? [] : [`Project root: ${workspace.root}`]),
    `Platform: ${process.platform}`,
    `Today: ${new Date(nowMs).toISOString().slice(0, 10)}`,
  ]
  return lines.join("\n")
}
