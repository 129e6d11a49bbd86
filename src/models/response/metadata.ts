import {
  type Change,
  count,
  detail,
  each,
  type Fields,
  fields,
  isFields,
  type Mend,
  needed,
  neededCount,
  neededFields,
  number,
  text,
  textOr,
  unused,
  valid,
} from "./mend.ts"

/**
 * Mends the metadata of an event in place: token counts, ids, times, finish reasons. A provider's package refuses an
 * event with metadata of the wrong type, and with it a complete answer. Returns true if the event was changed.
 */
export function mendMetadata(event: unknown): boolean {
  if (!isFields(event) || isPlainDelta(event)) return false
  const change: Change = { isChanged: false }
  mendOf(event)?.(event, change)
  return change.isChanged
}

/** True for a delta of Chat Completions whose metadata is as expected. Most events of a stream are such deltas. */
function isPlainDelta({ id, created, model, usage, choices }: Fields): boolean {
  if (typeof id !== "string" || typeof created !== "number" || typeof model !== "string") return false
  if ((usage !== undefined && usage !== null) || !Array.isArray(choices) || choices.length !== 1) return false
  const [choice] = choices as unknown[]
  if (!isFields(choice) || typeof choice.index !== "number" || !isFields(choice.delta)) return false
  const { finish_reason: reason, logprobs, delta } = choice
  const hasNone = (reason === undefined || reason === null) && (logprobs === undefined || logprobs === null)
  return hasNone && delta.role === undefined && delta.annotations === undefined
}

function mendOf(event: Fields): Mend | undefined {
  if (Array.isArray(event.choices)) return chatEvent
  if (Array.isArray(event.candidates) || "usageMetadata" in event) return googleEvent
  switch (event.type) {
    case "message_start":
      return anthropicStart
    case "message_delta":
      return anthropicEnd
    case "response.created":
    case "response.in_progress":
      return responseStart
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
      return responseEnd
    case "response.output_text.delta":
      return responseText
    default:
      return undefined
  }
}

const details = (...names: string[]) => fields(Object.fromEntries(names.map((name) => [name, detail])))

function isProbabilities(value: unknown): boolean {
  const isToken = (one: unknown): one is Fields =>
    isFields(one) && typeof one.token === "string" && typeof one.logprob === "number"
  return (
    Array.isArray(value) &&
    value.every((one) => isToken(one) && Array.isArray(one.top_logprobs) && one.top_logprobs.every(isToken))
  )
}

const isRole = (value: unknown): boolean => value === "assistant" || value === ""

/** Chat Completions of OpenAI and compatible servers. */
const chatEvent = fields({
  id: text,
  created: number,
  model: text,
  usage: fields({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: detail,
    prompt_tokens_details: details("cached_tokens", "cache_write_tokens"),
    completion_tokens_details: details(
      "reasoning_tokens",
      "accepted_prediction_tokens",
      "rejected_prediction_tokens",
    ),
  }),
  choices: each(
    fields({
      index: needed("number", 0),
      finish_reason: textOr("unknown"),
      logprobs: fields({ content: valid(isProbabilities), refusal: valid(isProbabilities) }),
      delta: fields({ role: valid(isRole), annotations: unused }),
    }),
  ),
})

const isTexts = (value: unknown): boolean => isFields(value) && typeof value.type === "string"

/** The Messages API of Anthropic. */
const anthropicStart = fields({
  message: neededFields({
    id: text,
    model: text,
    role: text,
    service_tier: text,
    stop_reason: text,
    usage: neededFields({
      service_tier: text,
      input_tokens: neededCount,
      cache_creation_input_tokens: detail,
      cache_read_input_tokens: detail,
    }),
    container: unused,
    input_transformations: unused,
  }),
})

const anthropicEnd = fields({
  delta: neededFields({
    stop_reason: textOr("unknown"),
    stop_sequence: text,
    stop_details: (value, change) =>
      isTexts(value)
        ? fields({ category: text, explanation: text, recommended_model: text })(value, change)
        : undefined,
    safeguard_results: unused,
    container: unused,
  }),
  usage: neededFields({
    service_tier: text,
    input_tokens: count,
    output_tokens: neededCount,
    output_tokens_details: details("thinking_tokens"),
    cache_creation_input_tokens: detail,
    cache_read_input_tokens: detail,
    iterations: unused,
  }),
  input_transformations: unused,
  context_management: unused,
})

const isModalities = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every(
    (one) => isFields(one) && typeof one.modality === "string" && typeof one.tokenCount === "number",
  )

const ratings: Mend = (value, change) => {
  if (value === undefined || value === null) return value
  if (!Array.isArray(value) || !value.every(isFields)) return undefined
  return each(
    fields({
      category: text,
      probability: text,
      probabilityScore: number,
      severity: text,
      severityScore: number,
      blocked: valid((one) => typeof one === "boolean"),
    }),
  )(value, change)
}

/** The Gemini API of Google. */
const googleEvent = fields({
  responseId: text,
  usageMetadata: fields({
    promptTokenCount: count,
    candidatesTokenCount: count,
    totalTokenCount: detail,
    cachedContentTokenCount: detail,
    thoughtsTokenCount: detail,
    toolUsePromptTokenCount: detail,
    trafficType: text,
    serviceTier: text,
    promptTokensDetails: valid(isModalities),
    cacheTokensDetails: valid(isModalities),
    candidatesTokensDetails: valid(isModalities),
    toolUsePromptTokensDetails: valid(isModalities),
  }),
  candidates: each(
    fields({
      finishReason: textOr("OTHER"),
      finishMessage: text,
      continuationToken: text,
      safetyRatings: ratings,
      groundingMetadata: unused,
      urlContextMetadata: unused,
    }),
  ),
  promptFeedback: fields({ blockReason: text, safetyRatings: ratings }),
})

/** The Responses API of OpenAI. */
const responseStart = fields({
  response: neededFields({
    id: needed("string", "unknown"),
    created_at: needed("number", 0),
    model: needed("string", "unknown"),
    service_tier: text,
  }),
})

const responseEnd = fields({
  response: neededFields({
    incomplete_details: fields({ reason: needed("string", "unknown") }),
    usage: fields({
      input_tokens: neededCount,
      output_tokens: neededCount,
      total_tokens: (value) => (value === null ? undefined : detail(value, { isChanged: false })),
      input_tokens_details: details(
        "cached_tokens",
        "cache_write_tokens",
        "orchestration_input_tokens",
        "orchestration_input_cached_tokens",
      ),
      output_tokens_details: details("reasoning_tokens", "orchestration_output_tokens"),
    }),
    reasoning: fields({ context: text }),
    service_tier: text,
  }),
})

const responseText = fields({ logprobs: valid(isProbabilities) })
