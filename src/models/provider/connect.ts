import type { LanguageModelV4 } from "@ai-sdk/provider"
import { withJoinedDeltas } from "../adapter/join-deltas.ts"
import { boundedResponse, type ResponseBounds } from "../response/bounded-response.ts"
import type { Api, ProviderConfig, ProviderPackage } from "./providers.ts"

export interface Connection {
  npm: ProviderPackage
  providerID: string
  modelID: string
  baseURL: string
  /** True if `baseURL` is the provider's own address, not a gateway or another server. */
  isOfficial: boolean
  apiKey: string | undefined
  headers: Record<string, string>
  options: NonNullable<ProviderConfig["options"]>
  asksForUsage: boolean
  fetch: typeof fetch
  answerBytesMax: number
}

export interface Connected {
  model: LanguageModelV4
  api: Api
  /** The name under which the package looks up its options. */
  namespace: string
}

/** Loads the provider's package, which takes about 100 ms, and creates a model. Sends no request. */
export async function connect(connection: Connection): Promise<Connected> {
  const { npm, modelID, baseURL, headers, options } = connection
  const name = `${connection.providerID}/${modelID}`
  const fetch = withoutRedirects(connection.fetch, { name, bytesMax: connection.answerBytesMax })
  // An empty key keeps the package from looking for one in the environment.
  const apiKey = connection.apiKey ?? ""
  switch (npm) {
    case "@ai-sdk/openai": {
      const { createOpenAI } = await import("@ai-sdk/openai")
      const { organization, project } = options
      const provider = createOpenAI({ baseURL, apiKey, headers, organization, project, fetch })
      // Gateways and other servers rarely implement the Responses API.
      const speaksResponses = options.api === undefined ? connection.isOfficial : options.api === "responses"
      return speaksResponses
        ? { model: provider.responses(modelID), api: "openai-responses", namespace: "openai" }
        : { model: provider.chat(modelID), api: "openai-chat", namespace: "openai" }
    }
    case "@ai-sdk/anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic")
      const provider = createAnthropic({ baseURL, apiKey, headers, fetch })
      return { model: provider(modelID), api: "anthropic", namespace: "anthropic" }
    }
    case "@ai-sdk/google": {
      const { createGoogle } = await import("@ai-sdk/google")
      const provider = createGoogle({ baseURL, apiKey, headers, fetch })
      return { model: provider(modelID), api: "google", namespace: "google" }
    }
    case "@ai-sdk/openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible")
      const namespace = camelCase(connection.providerID)
      const provider = createOpenAICompatible({
        name: namespace,
        baseURL,
        headers,
        fetch,
        includeUsage: connection.asksForUsage,
        ...(connection.apiKey !== undefined && { apiKey: connection.apiKey }),
      })
      return { model: provider(modelID), api: "openai-compatible", namespace }
    }
  }
}

const longBodyLength = 256 * 1024

/**
 * Refuses redirects: a key is sent to the address it was configured for and nowhere else, whatever the server answers.
 */
function withoutRedirects(inner: typeof fetch, bounds: ResponseBounds): typeof fetch {
  return async (input, init) => {
    const body = init?.body
    // Fetch scans a string several times and bytes once: 3 ms less for 1 MB. A short body is not worth the copy.
    const isLong = typeof body === "string" && body.length > longBodyLength
    const sent = { ...init, body: isLong ? Buffer.from(body) : body, redirect: "manual" as const }
    return withJoinedDeltas(boundedResponse(await inner(input, sent), bounds))
  }
}

/** The package looks up its options under the camel-case form of the provider's name. */
function camelCase(providerID: string): string {
  const name = providerID.replace(/[^A-Za-z0-9]+(.?)/g, (_, next: string) => next.toUpperCase())
  return name === "" ? "openaiCompatible" : name
}
