import type { Config, ConfigInput } from "../files/schema.ts"
import type { Layer } from "../layer.ts"
import type { LoadedConfig } from "../loaded.ts"
import type { Environment } from "../paths.ts"
import { secretCharactersMin } from "./environment.ts"
import { tokenVariable } from "./token.ts"

const secretHeader = /auth|key|token|secret|cookie|password/i

/** The API keys and secret headers in the provider settings of a config. */
function keysIn(providers: ConfigInput["provider"]): string[] {
  return Object.values(providers ?? {}).flatMap(({ options: given }) => [
    ...(given?.apiKey ? [given.apiKey] : []),
    ...Object.entries(given?.headers ?? {}).flatMap(([name, value]) =>
      secretHeader.test(name) ? [value, value.replace(/^\w+\s+/, "")] : [],
    ),
  ])
}

/**
 * The values that must not be shown: values that were filled in, the server's token and API keys from the environment,
 * and API keys written in the config.
 */
export function secretsOf(
  config: Config,
  options: { layers: readonly Layer[]; env: Environment; keyNames: readonly string[] },
): Pick<LoadedConfig, "secrets" | "secretNames" | "unusedSecrets"> {
  const { layers, env, keyNames } = options
  const values = [
    ...layers.flatMap((layer) => layer.secrets),
    ...[tokenVariable, ...keyNames].flatMap((name) => env[name] ?? []),
    ...keysIn(config.provider),
  ]
  const untrusted = layers.flatMap((layer) => (layer.trusted ? [] : keysIn(layer.config.provider)))
  const names = [...layers.flatMap((layer) => layer.secretNames), ...keyNames]
  const longEnough = (value: string) => value.length >= secretCharactersMin
  return {
    secrets: [...new Set(values)].filter(longEnough),
    secretNames: [...new Set(names)],
    unusedSecrets: [...new Set(untrusted)].filter((value) => longEnough(value) && !/^\{\w+:/.test(value)),
  }
}
