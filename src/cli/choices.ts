import type { Client } from "../client/index.ts"
import { StemmaError } from "../protocol/index.ts"

/** The agent and the model that the user chose. */
export interface Choices {
  agent?: string | undefined
  model?: string | undefined
}

/** Throws for an agent or a provider that does not exist in a directory, so that no session is created for it. */
export async function checkChoices(
  { place }: Client,
  { agent, model, where }: Choices & { where: { directory?: string } },
): Promise<void> {
  if (agent !== undefined) {
    const offered = (await place.agents(where)).filter(({ isHidden }) => !isHidden).map(({ name }) => name)
    if (!offered.includes(agent)) {
      throw new StemmaError(
        "invalid",
        `There is no agent ${agent}. The agents here are: ${offered.join(", ")}.`,
      )
    }
  }
  if (model === undefined) return
  const [, providerID] = /^([^/]+)\/./.exec(model) ?? []
  if (providerID === undefined) {
    throw new StemmaError(
      "invalid",
      `--model takes provider/model, for example openai/gpt-5, not ${JSON.stringify(model)}.`,
    )
  }
  // The model itself is not checked: only the provider knows all its models.
  const known = (await place.providers(where)).map(({ id }) => id)
  if (known.includes(providerID)) return
  throw new StemmaError(
    "not_found",
    `There is no provider ${providerID}. The providers are: ${known.join(", ")}. Add others under "provider" in the config.`,
  )
}
