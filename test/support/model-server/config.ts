import type { ProtocolName } from "./answer.ts"

export interface ModelConfig {
  id?: string
  limit?: { context: number; output: number }
  cost?: { input: number; output: number }
}

const npm: Record<ProtocolName, string> = {
  openai: "@ai-sdk/openai-compatible",
  anthropic: "@ai-sdk/anthropic",
}

/** The `model` and `provider` of a config that points to a server. */
export function configFor(baseURL: string, model: ModelConfig & { protocol: ProtocolName }) {
  const { protocol, id = "m1", limit = { context: 128_000, output: 8_192 }, cost } = model
  return {
    model: `test-${protocol}/${id}`,
    provider: {
      [`test-${protocol}`]: {
        npm: npm[protocol],
        options: { baseURL, apiKey: "test-key" },
        models: { [id]: { limit, ...(cost && { cost }) } },
      },
    },
  }
}
