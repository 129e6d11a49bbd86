import type { Command } from "../../config/agents/command.ts"
import { StemmaError, type TextSpans } from "../../protocol/index.ts"
import { type ExpandedTemplate, expandTemplate, visibleLine } from "../../session/index.ts"
import { cutText } from "../../tools/output.ts"
import { checkText } from "../api/arguments/call-options.ts"
import { promptOptions } from "../api/arguments/prompts.ts"
import type { Setup } from "../project.ts"
import { modelRef, type PromptOptions, type PromptPart } from "./prompt.ts"

/** The length of a subtask's description, in UTF-16 units. */
const descriptionMax = 200

export interface CommandInput {
  name: string
  args: string
  prompt: PromptOptions
}

export function commandInput(given: { name: unknown; args: unknown; options: unknown }): CommandInput {
  checkText(given.name as string, { call: "session.command", name: "name" })
  if (typeof given.args !== "string") {
    throw new StemmaError("invalid", "The arguments of session.command must be a string.")
  }
  return { name: given.name as string, args: given.args, prompt: promptOptions(given.options) }
}

/** The prompt that a command with these arguments makes: a text, or a subtask for another agent. */
export function commandPrompt(
  setup: Setup,
  { name, args, prompt }: CommandInput,
): { parts: PromptPart[]; prompt: PromptOptions; fixed?: TextSpans } {
  const command = find(setup, name)
  const { text, fixed } = trimmed(expandTemplate(command.template, args))
  if (text === "") {
    throw new StemmaError(
      "invalid",
      `The command ${name} makes an empty prompt without arguments. Give it arguments.`,
    )
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

/** Trims the text and moves the spans of the fixed references accordingly. */
function trimmed({ text, fixed }: ExpandedTemplate): ExpandedTemplate {
  const by = text.length - text.trimStart().length
  return { text: text.trim(), fixed: fixed.map(({ start, end }) => ({ start: start - by, end: end - by })) }
}

/** A command is a subtask if it says so, or if it says nothing and its agent is a subagent. */
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
