import type { MessageBody, MessageError, PartBody, ToolState } from "../../protocol/index.ts"

export const redacted = "[redacted]"

const redactedError: MessageError = { name: "UnknownError", data: { message: redacted } }

function redactState(state: ToolState): ToolState {
  switch (state.status) {
    case "pending":
      return { status: state.status, input: {}, raw: "" }
    case "running":
      return { status: state.status, input: {}, time: state.time }
    case "completed":
      return { status: state.status, input: {}, output: redacted, title: "", metadata: {}, time: state.time }
    case "error":
      return { status: state.status, input: {}, error: redacted, time: state.time }
  }
}

/** The fields that replace the content of a part. A field with the value `undefined` is removed. */
function redactedFields(part: PartBody): Partial<Record<string, unknown>> {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { text: redacted, metadata: undefined }
    case "tool":
      return { state: redactState(part.state), metadata: undefined }
    case "file":
      return { url: "redacted:", filename: undefined, source: undefined }
    case "agent":
      return { source: undefined }
    case "subtask":
      return { prompt: redacted, description: redacted, command: undefined }
    case "compaction":
      return {
        summary: part.summary === undefined ? undefined : redacted,
        ledger: part.ledger === undefined ? undefined : redacted,
        facts: undefined,
      }
    case "retry":
      return { error: redactedError }
    case "step-start":
    case "step-finish":
      return { snapshot: undefined }
    case "snapshot":
      return { snapshot: "" }
    case "patch":
      return { files: [] }
  }
}

function replaceFields<T extends object>(value: T, fields: Partial<Record<string, unknown>>): T {
  const entries = Object.entries({ ...value, ...fields }).filter(([, field]) => field !== undefined)
  return Object.fromEntries(entries) as T
}

/** The same part without its content: id, kind, times and counts stay. Redacting again changes nothing. */
export function redactPart<T extends PartBody>(part: T): T {
  return replaceFields(part, redactedFields(part))
}

/** The same message without its text and error. The caller redacts the parts one by one. */
export function redactMessage<T extends MessageBody>(message: T): T {
  if (message.role === "user") return replaceFields(message, { system: undefined, summary: undefined })
  return message.error === undefined ? message : replaceFields(message, { error: redactedError })
}
