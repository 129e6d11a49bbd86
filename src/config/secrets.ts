import { secretCharactersMin } from "./environment.ts"
import type { Layer } from "./layer.ts"
import type { LoadedConfig } from "./loaded.ts"
import type { Environment } from "./paths.ts"
import type { Config } from "./schema.ts"
import { tokenVariable } from "./token.ts"

const secretHeader = /auth|key|token|secret|cookie|password/i

/**
 * What must not be shown: whatever was filled in, the server's token and keys of providers in the environment, and keys written
 * in the config.
 */
export function secretsOf(
  config: Config,
  options: { layers: readonly Layer[]; env: Environment; keyNames: readonly string[] },
): Pick<LoadedConfig, "secrets" | "secretNames"> {
  const { layers, env, keyNames } = options
  const values = [
    ...layers.flatMap((layer) => layer.secrets),
    ...[tokenVariable, ...keyNames].flatMap((name) => env[name] ?? []),
    ...Object.values(config.provider).flatMap(({ options: given }) => [
      ...(given?.apiKey ? [given.apiKey] : []),
      ...Object.entries(given?.headers ?? {}).flatMap(([name, value]) =>
        secretHeader.test(name) ? [value, value.replace(/^\w+\s+/, "")] : [],
      ),
    ]),
  ]
  const names = [...layers.flatMap((layer) => layer.secretNames), ...keyNames]
  return {
    secrets: [...new Set(values)].filter((value) => value.length >= secretCharactersMin),
    secretNames: [...new Set(names)],
  }
}
