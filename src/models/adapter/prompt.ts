import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider"
import type { JsonObject } from "../../protocol/index.ts"
import type { ContextFile, ContextMessage, ContextToolResult } from "../../session/index.ts"
import type { ModelRequest } from "../model.ts"
import type { Api } from "../provider/providers.ts"
import { isElsewhere, type SentFile, sentFile } from "./context-file.ts"
import { fitCallID, fitToolName } from "./fit-names.ts"

export interface PromptOptions {
  api: Api
  /** False if the server refuses a request that contains earlier reasoning. */
  takesReasoning?: boolean
}

export type PromptConverter = (request: ModelRequest) => Promise<LanguageModelV4Prompt>

const cacheHere: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } }

/**
 * How many messages at the end of the prompt get a cache mark for Anthropic: one that this call writes, and one that
 * the call before wrote and this call reads from.
 */
const cachedMessagesMax = 2

/** Returns a converter that converts each message object only once, however many requests include the message. */
export function createPromptConverter(options: PromptOptions): PromptConverter {
  const converted = new WeakMap<ContextMessage, LanguageModelV4Message[]>()
  const convert = async (message: ContextMessage, readFile: ModelRequest["readFile"]) => {
    const stored = filesOf(message).filter(isElsewhere)
    const bytes = stored.length > 0 ? await readAll(stored, readFile) : undefined
    const messages = convertMessage(message, options, (file) => sentFile(file, options.api, bytes?.get(file)))
    // A message with file bytes is converted again each time, so that a history of pictures does not stay in memory.
    if (bytes === undefined) converted.set(message, messages)
    return messages
  }
  return async ({ system, messages, readFile }) => {
    const prompt = systemMessages(system, options.api)
    for (const message of messages) {
      // The await is only for messages that are new: a long context has thousands of known ones.
      const known = converted.get(message) ?? (await convert(message, readFile))
      for (const one of known) prompt.push(one)
    }
    if (options.api === "anthropic") markForCache(prompt)
    return prompt
  }
}

async function readAll(
  files: ContextFile[],
  readFile: ModelRequest["readFile"],
): Promise<Map<ContextFile, Uint8Array | undefined>> {
  const read = files.map(async (file) => {
    const bytes = await readFile(file.url).catch(() => undefined)
    return [file, bytes] as const
  })
  return new Map(await Promise.all(read))
}

function filesOf(message: ContextMessage): ContextFile[] {
  if (message.role === "user") return message.content.filter((part) => part.type === "file")
  if (message.role === "tool") return message.content.flatMap((result) => result.attachments ?? [])
  return []
}

/** One system message, because many models accept only one; separate messages for Anthropic, whose cache needs them. */
function systemMessages(system: readonly string[], api: Api): LanguageModelV4Prompt {
  if (system.length === 0) return []
  if (api !== "anthropic") return [{ role: "system", content: system.join("\n\n") }]
  const last = system.length - 1
  return system.map((content, index) => ({
    role: "system",
    content,
    ...(index === last && { providerOptions: cacheHere }),
  }))
}

function markForCache(prompt: LanguageModelV4Prompt): void {
  let left = cachedMessagesMax
  for (let index = prompt.length - 1; index >= 0 && left > 0; index--) {
    const message = prompt[index]!
    if (message.role !== "user" && message.role !== "tool") continue
    prompt[index] = { ...message, providerOptions: cacheHere }
    left--
  }
}

type ToSent = (file: ContextFile) => SentFile

function convertMessage(
  message: ContextMessage,
  options: PromptOptions,
  toSent: ToSent,
): LanguageModelV4Message[] {
  switch (message.role) {
    case "user": {
      const content = message.content.map((part) =>
        part.type === "text" ? textPart(part) : filePart(toSent(part)),
      )
      return [{ role: "user", content }]
    }
    case "assistant":
      return assistantMessage(message, options)
    case "tool":
      return toolMessages(message.content, options.api, toSent)
  }
}

function assistantMessage(
  message: Extract<ContextMessage, { role: "assistant" }>,
  { api, takesReasoning = true }: PromptOptions,
): LanguageModelV4Message[] {
  const content: Extract<LanguageModelV4Message, { role: "assistant" }>["content"] = []
  for (const part of message.content) {
    if (part.type === "text") content.push(textPart(part))
    else if (part.type === "reasoning") {
      if (takesReasoning) content.push({ type: "reasoning", text: part.text, ...sentBack(part) })
    } else {
      content.push({ type: "tool-call", ...namesOf(part, api), input: part.input, ...sentBack(part) })
    }
  }
  return content.length > 0 ? [{ role: "assistant", content }] : []
}

/** If the API accepts only text as a result, attachments follow in a user message. */
function toolMessages(results: ContextToolResult[], api: Api, toSent: ToSent): LanguageModelV4Message[] {
  const takesFiles = api !== "openai-chat" && api !== "openai-compatible"
  const content: LanguageModelV4ToolResultPart[] = []
  const after: (LanguageModelV4TextPart | LanguageModelV4FilePart)[] = []
  for (const result of results) {
    const names = namesOf(result, api)
    const sent = (result.attachments ?? []).map(toSent)
    const texts = sent.flatMap((file) => (file.type === "text" ? [file.text] : []))
    const files = sent.filter((file) => file.type !== "text").map(filePart)
    const text = [result.output, ...texts].join("\n\n")
    let output: LanguageModelV4ToolResultOutput = {
      type: result.isError ? "error-text" : "text",
      value: text,
    }
    if (files.length > 0 && takesFiles && !result.isError) {
      output = { type: "content", value: [{ type: "text", text }, ...files] }
    } else if (files.length > 0) {
      after.push(
        { type: "text", text: `[Files of the result of ${names.toolName} (${names.toolCallId}):]` },
        ...files,
      )
    }
    content.push({ type: "tool-result", ...names, output })
  }
  const messages: LanguageModelV4Message[] = [{ role: "tool", content }]
  if (after.length > 0) messages.push({ role: "user", content: after })
  return messages
}

/** The names of a call or of its result. They depend only on its own id and name, so both always match. */
function namesOf({ callID, tool }: { callID: string; tool: string }, api: Api) {
  return { toolCallId: fitCallID(callID, api), toolName: fitToolName(tool) }
}

function textPart(part: { text: string; metadata?: JsonObject }): LanguageModelV4TextPart {
  return { type: "text", text: part.text, ...sentBack(part) }
}

function filePart(sent: SentFile): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (sent.type === "text") return { type: "text", text: sent.text }
  const { mime: mediaType, filename } = sent
  const data = sent.type === "bytes" ? { type: "data", data: sent.base64 } : { type: "url", url: sent.url }
  return {
    type: "file",
    mediaType,
    data,
    ...(filename !== undefined && { filename }),
  } as LanguageModelV4FilePart
}

/** Sends the provider's metadata of a part back under the provider's name; other providers ignore it. */
function sentBack({ metadata }: { metadata?: JsonObject }): { providerOptions?: SharedV4ProviderOptions } {
  return metadata ? { providerOptions: metadata as SharedV4ProviderOptions } : {}
}
