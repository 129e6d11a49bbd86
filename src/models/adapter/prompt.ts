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
import type { SentBodies } from "./sent-bodies.ts"

export interface PromptOptions {
  api: Api
  /** False where the server refuses a request with earlier reasoning in it. */
  takesReasoning?: boolean
  /** Where it is given, long contexts are not written whole each time. */
  bodies?: SentBodies
}

export interface ConvertedPrompt {
  prompt: LanguageModelV4Prompt
  /** To be called when the request has been sent, or has failed. */
  release(): void
}

export type PromptConverter = (request: ModelRequest) => Promise<ConvertedPrompt>

const cacheHere: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } }

/** How many messages at the end of the context are marked for Anthropic's cache: this call's, and the one before to read from. */
const cachedMessagesMax = 2

/** How many conversations are remembered as they were last sent. */
const conversationsMax = 8
/** Shorter ones are written whole: it takes no longer. */
const longConversation = 48

/** What the messages of a context became. */
interface Converted {
  messages: readonly ContextMessage[]
  prompt: LanguageModelV4Message[]
  /** By message: how long the prompt was after it. Ends before the first one whose bytes are not to be kept. */
  ends: number[]
  /** The beginning of the prompt as it was written, and how many of its messages that is. */
  written?: { bytes: Uint8Array; length: number }
}

/** A message that was converted before is not converted again, however long the context is. */
export function createPromptConverter(options: PromptOptions): PromptConverter {
  const converted = new WeakMap<ContextMessage, LanguageModelV4Message[]>()
  // A context mostly goes on where the last one ended: to compare costs less than to look each message up.
  const conversations = new Map<ContextMessage, Converted>()
  const remember = (conversation: Converted) => {
    const first = conversation.messages[0]
    if (first === undefined) return
    conversations.delete(first)
    conversations.set(first, conversation)
    if (conversations.size > conversationsMax) conversations.delete(conversations.keys().next().value!)
  }
  return async ({ system, messages, readFile }) => {
    const last = messages.length > 0 ? conversations.get(messages[0]!) : undefined
    const same = last ? sameLength(last, messages) : 0
    const prompt = last ? last.prompt.slice(0, last.ends[same - 1] ?? 0) : []
    const ends = last ? last.ends.slice(0, same) : []
    const written = last?.written && last.written.length <= prompt.length ? last.written : undefined
    let isKept = true
    for (const message of same === 0 ? messages : messages.slice(same)) {
      let known = converted.get(message)
      if (known === undefined) {
        const elsewhere = filesOf(message).filter(isElsewhere)
        const bytes = elsewhere.length > 0 ? await readAll(elsewhere, readFile) : undefined
        known = convertMessage(message, options, (file) => sentFile(file, options.api, bytes?.get(file)))
        // Bytes are not kept: a history of pictures would stay in memory.
        if (bytes === undefined) converted.set(message, known)
        else isKept = false
      }
      for (const one of known) prompt.push(one)
      if (isKept) ends.push(prompt.length)
    }
    const kept = ends.at(-1) ?? 0
    const conversation: Converted = {
      messages,
      prompt: isKept ? prompt : prompt.slice(0, kept),
      ends,
      ...(written && { written }),
    }
    remember(conversation)
    const beginning = systemMessages(system, options.api)
    const { bodies } = options
    if (bodies && !bodies.isOff && kept >= longConversation) {
      return marked({ bodies, conversation, beginning, prompt, kept })
    }
    const whole = [...beginning, ...prompt]
    if (options.api === "anthropic") markForCache(whole)
    return { prompt: whole, release: () => {} }
  }
}

/** The prompt without what was written before: marks stand in its place. */
function marked(options: {
  bodies: SentBodies
  conversation: Converted
  beginning: LanguageModelV4Prompt
  prompt: LanguageModelV4Message[]
  kept: number
}): ConvertedPrompt {
  const { bodies, conversation, beginning, prompt, kept } = options
  const { written } = conversation
  const { first, last, release } = bodies.mark({
    before: written?.bytes,
    onWritten(bytes) {
      conversation.written = { bytes, length: kept }
    },
  })
  const added = prompt.slice(written?.length ?? 0, kept)
  const mark = (text: string): LanguageModelV4Message => ({ role: "user", content: [{ type: "text", text }] })
  return { prompt: [...beginning, mark(first), ...added, mark(last), ...prompt.slice(kept)], release }
}

/** How many messages at the beginning are those of the last context. */
function sameLength({ messages: before, ends }: Converted, messages: readonly ContextMessage[]): number {
  const most = Math.min(ends.length, messages.length)
  let same = 0
  while (same < most && before[same] === messages[same]) same++
  return same
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

/** One message, since many models know only one; Anthropic's cache wants the texts apart. */
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

/** Where a result can only be text, its attachments follow as a message of the user. */
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

/** A call and its result alike: what either is called depends on nothing but its own id and name. */
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

/** What a provider gave with a part goes back to it under the same name; the others do not look there. */
function sentBack({ metadata }: { metadata?: JsonObject }): { providerOptions?: SharedV4ProviderOptions } {
  return metadata ? { providerOptions: metadata as SharedV4ProviderOptions } : {}
}
