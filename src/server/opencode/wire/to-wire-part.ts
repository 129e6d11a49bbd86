import type { JsonObject, Part, PartOf, ToolState } from "../../../protocol/index.ts"
import { parseCallInput } from "../../../run/index.ts"
import { toWireApiError } from "./to-wire-error.ts"
import type { WireFilePart, WirePart, WireToolState } from "./wire-message.ts"

export interface PartOptions {
  /** A URL that a client can open, in place of a `blob:` URL. */
  url: (file: { url: string; mime: string }) => string
  /** When the output of a call was hidden from the model, by the id of its part. */
  prunedAt?: (partID: string) => number | undefined
}

export function toWirePart(part: Part, options: PartOptions): WirePart {
  switch (part.type) {
    case "tool":
      return { ...part, state: toWireState(part, options) }
    case "file":
      return { ...part, url: options.url(part) }
    case "subtask": {
      const { fixed: _, references: _r, ...rest } = part
      return rest
    }
    case "compaction":
      return toWireCompaction(part)
    case "retry":
      return { ...part, error: toWireApiError(part.error) }
    case "step-start": {
      const { prune: _, ...rest } = part
      return rest
    }
    default:
      return part
  }
}

/** A summary is sent as text, because the OpenCode client shows nothing else of a compaction. */
function toWireCompaction(part: PartOf<"compaction">): WirePart {
  const { id, sessionID, messageID, type, auto, summary, firstKeptEntryId } = part
  const ids = { id, sessionID, messageID }
  const kept = firstKeptEntryId === undefined ? {} : { tail_start_id: firstKeptEntryId }
  if (summary === undefined) return { ...ids, type, auto, ...kept }
  return { ...ids, type: "text", text: summary, metadata: { compaction: { auto, ...kept } } }
}

function toWireState(part: PartOf<"tool">, options: PartOptions): WireToolState {
  const { state } = part
  switch (state.status) {
    case "pending": {
      // The OpenCode client shows the input of a running call only. A call whose input is complete counts as running, so
      // that a person who is asked for permission sees the command.
      const input = completeInput(state.raw)
      return input ? { status: "running", input, time: { start: createdAt(part.id) } } : state
    }
    case "running": {
      const { output, ...rest } = state
      // The OpenCode client reads the output of a running command from the metadata.
      return output === undefined ? rest : { ...rest, metadata: { ...rest.metadata, output } }
    }
    case "completed":
      return completed(part, { state, options })
    default:
      return state
  }
}

function completed(
  part: PartOf<"tool">,
  { state, options }: { state: Extract<ToolState, { status: "completed" }>; options: PartOptions },
): WireToolState {
  const { outputBlob: _, attachments, time, metadata, ...rest } = state
  const compacted = time.compacted ?? options.prunedAt?.(part.id)
  const { sessionID, messageID } = part
  const files = attachments?.map(
    (file, index): WireFilePart => ({
      ...file,
      id: file.id ?? `${part.id}_${index}`,
      sessionID,
      messageID,
      url: options.url(file),
    }),
  )
  return {
    ...rest,
    // OpenCode's terminal shows the text of a written file only if there are diagnostics. Stemma has none.
    metadata: part.tool === "write" ? { diagnostics: {}, ...metadata } : metadata,
    time: { ...time, ...(compacted !== undefined && { compacted }) },
    ...(files && { attachments: files }),
  }
}

/** The input of a call, once the model has written all of it. */
function completeInput(raw: string): JsonObject | undefined {
  // Most events of a call come while its input grows, and a long text is not parsed for each of them.
  return raw.trimEnd().endsWith("}") ? parseCallInput(raw) : undefined
}

const ulidLetters = "0123456789abcdefghjkmnpqrstvwxyz"

/** The time in an id that Stemma made, which is a ULID; 0 for other ids. */
function createdAt(id: string): number {
  const time = /^prt_([0-7][0-9a-hjkmnp-tv-z]{9})[0-9a-hjkmnp-tv-z]{16}$/.exec(id)?.[1] ?? ""
  return [...time].reduce((sum, letter) => sum * 32 + ulidLetters.indexOf(letter), 0)
}
