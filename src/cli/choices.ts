import type { Client } from "../client/index.ts"
import { StemmaError } from "../protocol/index.ts"

/** Who is to answer. */
export interface Choices {
  agent?: string | undefined
  model?: string | undefined
}

/** Throws for an agent or a model that nobody knows in a directory, so that no session is made for it. */
export async function checkChoices(
  { place }: Client,
  { agent, model, where }: Choices & { where: { directory?: string } },
): Promise<void> {
  if (agent !== undefined) {
    const offered = (await place.agents(where)).filter(({ isHidden }) => !isHidden).map(({ name }) => name)
    if (!offered.includes(agent)) {
      throw new StemmaError("invalid", `There is no agent ${agent}. There are: ${offered.join(", ")}.`)
    }
  }
  if (model === undefined) return
  const [, providerID] = /^([^/]+)\/./.exec(model) ?? []
  if (providerID === undefined) {
    throw new StemmaError("invalid", "--model takes a name such as openai/gpt-5: provider/model.")
  }
  // Which models a provider has is for it to say: lists are never whole.
  const known = (await place.providers(where)).map(({ id }) => id)
  if (known.includes(providerID)) return
  throw new StemmaError(
    "not_found",
    `There is no provider ${providerID}. There are: ${known.join(", ")}; others go under "provider" in the config.`,
  )
}
