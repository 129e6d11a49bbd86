import { configFilesMax } from "../files/config-files.ts"
import type { CommandConfig } from "../files/schema.ts"
import type { Layer } from "../layer.ts"
import { untrustedNotice } from "./agents.ts"
import type { Command } from "./command.ts"

const commandName = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u

/**
 * The commands of all layers. An untrusted project may set only the template and description of a command, and cannot
 * replace a trusted command.
 */
export function combineCommands(layers: readonly Layer[], notices: string[]): Map<string, Command> {
  const commands = new Map<string, Command>()
  for (const layer of layers) {
    const all = commandsOf(layer)
    for (const [name, config] of layer.trusted ? all : all.slice(0, configFilesMax)) {
      const known = commands.get(name)
      if (!commandName.test(name))
        notices.push(
          `${layer.path}: "${name}" is not a valid command name. Use letters, digits, _ . and - only.`,
        )
      else if (layer.trusted) commands.set(name, trustedCommand(name, config, known))
      else if (known?.trusted)
        notices.push(
          `${layer.path}: there already is a command /${name}; this one ${untrustedNotice(layer, 1)}`,
        )
      else commands.set(name, untrustedCommand(name, { config, layer, notices }))
    }
  }
  return commands
}

/** The commands of the config, then those of Markdown files. */
export function commandsOf(layer: Layer): [string, CommandConfig][] {
  return [...Object.entries(layer.config.command ?? {}), ...layer.commands]
}

function trustedCommand(name: string, config: CommandConfig, known: Command | undefined): Command {
  // Fields that an untrusted project set must not stay in a trusted command of the same name.
  const base = known?.trusted ? known : { name }
  return {
    ...base,
    template: config.template,
    ...(config.description !== undefined && { description: config.description }),
    ...(config.agent !== undefined && { agent: config.agent }),
    ...(config.model !== undefined && { model: config.model }),
    ...(config.subtask !== undefined && { subtask: config.subtask }),
    trusted: true,
  }
}

function untrustedCommand(
  name: string,
  given: { config: CommandConfig; layer: Layer; notices: string[] },
): Command {
  const { template, description, ...rest } = given.config
  const left = Object.keys(rest)
  if (left.length > 0)
    given.notices.push(
      `${given.layer.path}: ${left.join(", ")} of command /${name} ${untrustedNotice(given.layer, left.length)}`,
    )
  return { name, template, ...(description !== undefined && { description }), trusted: false }
}
