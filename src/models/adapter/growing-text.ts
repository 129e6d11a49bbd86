/** The text delta in an event of a provider, which the next event may continue. */
export interface GrowingText {
  /** Events with the same key continue the same text. */
  readonly key: string
  /** Adds the text of a later event. */
  join(next: GrowingText): void
  /** The event as JSON, with the joined text. */
  write(): string
  readonly text: string
}

type Fields = Record<string, unknown>

/** The text delta of an event; undefined if the event holds anything else. */
export function growingText(event: unknown): GrowingText | undefined {
  if (!isFields(event)) return undefined
  if (Array.isArray(event.choices)) return chatText(event)
  if (event.type === "content_block_delta") return blockText(event)
  return event.type === "response.output_text.delta" ? responseText(event) : undefined
}

const chatFields = ["content", "reasoning_content", "reasoning"]

/** Chat Completions of OpenAI and compatible servers. */
function chatText(event: Fields): GrowingText | undefined {
  const [choice, ...others] = event.choices as unknown[]
  if (others.length > 0 || !isFields(choice) || !isFields(choice.delta)) return undefined
  const { delta, index } = choice
  const [field, ...more] = Object.keys(delta)
  if (field === undefined || more.length > 0 || !chatFields.includes(field)) return undefined
  const isMiddle =
    isNothing(choice.finish_reason) &&
    isNothing(choice.logprobs) &&
    isNothing(event.usage) &&
    isNothing(event.error) &&
    typeof delta[field] === "string"
  if (!isMiddle) return undefined
  return grow(event, { holder: delta, field, key: `${event.id} ${event.model} ${index} ${field}` })
}

const blockFields: Record<string, string> = { text_delta: "text", thinking_delta: "thinking" }

/** The Messages API of Anthropic. */
function blockText(event: Fields): GrowingText | undefined {
  const { delta, index } = event
  if (!isFields(delta) || Object.keys(delta).length !== 2) return undefined
  const field = blockFields[String(delta.type)]
  if (field === undefined || typeof delta[field] !== "string") return undefined
  return grow(event, { holder: delta, field, key: `${index} ${field}` })
}

/** The Responses API of OpenAI. */
function responseText(event: Fields): GrowingText | undefined {
  const { item_id, output_index, content_index, delta, logprobs } = event
  if (typeof delta !== "string" || (Array.isArray(logprobs) && logprobs.length > 0)) return undefined
  return grow(event, { holder: event, field: "delta", key: `${item_id} ${output_index} ${content_index}` })
}

function grow(event: Fields, at: { holder: Fields; field: string; key: string }): GrowingText {
  const { holder, field, key } = at
  return {
    key,
    get text() {
      return holder[field] as string
    },
    join(next) {
      holder[field] = (holder[field] as string) + next.text
    },
    write: () => JSON.stringify(event),
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null
}
