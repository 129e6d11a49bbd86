import type { Command } from "../../../../config/agents/command.ts"
import type { Skill } from "../../../../config/agents/skills.ts"
import { maskDeep } from "../../../../config/secrets/environment.ts"
import type { WireCommand, WireSkill } from "./wire-project.ts"

type Mask = (text: string) => string

export function toWireCommand(command: Command, mask: Mask): WireCommand {
  const { name, description, agent, model, template, subtask } = command
  const wire: WireCommand = {
    name,
    source: "command",
    template,
    hints: [...new Set(template.match(/\$(?:ARGUMENTS|\d+)/g))],
    ...(description !== undefined && { description }),
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    ...(subtask !== undefined && { subtask }),
  }
  return maskDeep(wire, mask)
}

export function toWireSkill({ name, description, path, body }: Skill, mask: Mask): WireSkill {
  return maskDeep({ name, description, location: path, content: body }, mask)
}
