import { configFilesMax } from "../files/config-files.ts"
import type { CommandConfig } from "../files/schema.ts"
import type { Layer } from "../layer.ts"
import { untrusted } from "./agents.ts"
import type { Command } from "./command.ts"

const commandName = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u

/** The commands of all layers. Of an untrusted project a command is only a text, and takes no name that is there. */
export function combineCommands(layers: readonly Layer[], notices: string[]): Map<string, Command> {
  const commands = new Map<string, Command>()
  for (const layer of layers) {
    const all = commandsOf(layer)
    for (const [name, config] of layer.trusted ? all : all.slice(0, configFilesMax)) {
      const known = commands.get(name)
      if (!commandName.test(name))
        notices.push(`${layer.path}: "${name}" is no name for a command: letters, digits, _ . and - only.`)
      else if (layer.trusted) commands.set(name, changedCommand(name, config, known))
      else if (known?.trusted)
        notices.push(`${layer.path}: there is a command /${name} already; this one ${untrusted(layer, 1)}`)
      else commands.set(name, limitedCommand(name, { config, layer, notices }))
    }
  }
  return commands
}

/** Those of the config, then those of files. */
export function commandsOf(layer: Layer): [string, CommandConfig][] {
  return [...Object.entries(layer.config.command ?? {}), ...layer.commands]
}

function changedCommand(name: string, config: CommandConfig, known: Command | undefined): Command {
  // What an untrusted project said about the name must not live on under a trusted one.
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

function limitedCommand(
  name: string,
  given: { config: CommandConfig; layer: Layer; notices: string[] },
): Command {
  const { template, description, ...rest } = given.config
  const left = Object.keys(rest)
  if (left.length > 0)
    given.notices.push(
      `${given.layer.path}: ${left.join(", ")} of command /${name} ${untrusted(given.layer, left.length)}`,
    )
  return { name, template, ...(description !== undefined && { description }), trusted: false }
}
