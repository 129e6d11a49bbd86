import type { Command } from "../../config/agents/command.ts"
import { StemmaError, type TextSpans } from "../../protocol/index.ts"
import { type ExpandedTemplate, expandTemplate, visibleLine } from "../../session/index.ts"
import { cutText } from "../../tools/output.ts"
import { checkText } from "../api/arguments/call-options.ts"
import { promptOptions } from "../api/arguments/prompts.ts"
import type { Setup } from "../project.ts"
import { modelRef, type PromptOptions, type PromptPart } from "./prompt.ts"

/** As much as a task tells of itself. */
const descriptionMax = 200

export interface CommandInput {
  name: string
  args: string
  prompt: PromptOptions
}

export function commandInput(given: { name: unknown; args: unknown; options: unknown }): CommandInput {
  checkText(given.name as string, { call: "session.command", name: "name" })
  if (typeof given.args !== "string") {
    throw new StemmaError("invalid", "The arguments of session.command are a text.")
  }
  return { name: given.name as string, args: given.args, prompt: promptOptions(given.options) }
}

/** What a command with these arguments is as a prompt: a text, or a task for another agent. */
export function commandPrompt(
  setup: Setup,
  { name, args, prompt }: CommandInput,
): { parts: PromptPart[]; prompt: PromptOptions; fixed?: TextSpans } {
  const command = find(setup, name)
  const { text, fixed } = trimmed(expandTemplate(command.template, args))
  if (text === "") {
    throw new StemmaError("invalid", `The command ${name} says nothing without arguments. Give it some.`)
  }
  const agent = prompt.agent ?? command.agent
  const model = prompt.model ?? command.model
  const trusted = command.trusted ? { fixed } : {}
  if (!isTask(setup, { command, agent })) {
    const options = {
      ...prompt,
      ...(agent !== undefined && { agent }),
      ...(model !== undefined && { model }),
    }
    return { parts: [{ type: "text", text }], prompt: options, ...trusted }
  }
  const { agent: _, model: _m, ...rest } = prompt
  const part: PromptPart = {
    type: "subtask",
    prompt: text,
    description: cutText(visibleLine(command.description ?? "") || command.name, descriptionMax),
    agent: agent ?? "general",
    command: command.name,
    ...(model !== undefined && { model: modelRef(model) }),
    ...trusted,
  }
  return { parts: [part], prompt: rest }
}

/** Without the space around it, which a task does without: the places stay right. */
function trimmed({ text, fixed }: ExpandedTemplate): ExpandedTemplate {
  const by = text.length - text.trimStart().length
  return { text: text.trim(), fixed: fixed.map(({ start, end }) => ({ start: start - by, end: end - by })) }
}

/** A command for an agent that answers other agents only is a task, unless it says otherwise. */
function isTask(
  { loaded }: Setup,
  { command, agent }: { command: Command; agent: string | undefined },
): boolean {
  if (command.subtask !== undefined) return command.subtask
  return agent !== undefined && loaded.agents.get(agent)?.mode === "subagent"
}

function find({ loaded }: Setup, name: string): Command {
  const found = loaded.commands.get(name.replace(/^\//, ""))
  if (found) return found
  const names = [...loaded.commands.keys()].map((one) => `/${one}`).join(", ")
  const known = names === "" ? "There are none here." : `There are: ${names}.`
  throw new StemmaError("not_found", `There is no command ${name}. ${known}`)
}
