import { parseModelName } from "../../../../models/registry.ts"
import type { Setup } from "../../../../run/index.ts"
import { toWireProvider } from "../../wire/to-wire-directory.ts"
import type { WireProvider } from "../../wire/wire-directory.ts"

/** The model of prompts that name none. */
export async function defaultModel({ loaded, models }: Setup): Promise<string> {
  return loaded.config.model ?? (await models.standard())
}

export interface ReadyModels {
  providers: WireProvider[]
  /** The model of each provider that is used if none is named. */
  default: Record<string, string>
}

/** The OpenCode client uses the first provider, so the provider of the default model comes first. */
export async function readyModels(setup: Setup): Promise<ReadyModels> {
  const { config } = setup.loaded
  const name = await defaultModel(setup)
  const { providerID, modelID } = parseModelName(name)
  const ready = await setup.models.ready(name)
  const defaults = ready.flatMap(({ id, models }) => {
    const model = id === providerID ? models.find((one) => one.id === modelID) : models[0]
    return model ? [[id, model.id] as const] : []
  })
  return {
    providers: ready.map((one) =>
      toWireProvider(one, { isConfigured: Object.hasOwn(config.provider, one.id) }),
    ),
    default: Object.fromEntries(defaults),
  }
}
