import type { Part, PartOf, ToolState } from "../../protocol/index.ts"
import type { ContextFile, ContextToolCall, ContextToolResult } from "./context-message.ts"
import { interruptedText } from "./interrupt.ts"

/** Replaces output that was pruned. */
export const prunedNotice =
  "[This output was left out to save space. Find it with recall, or run the tool again for less of it.]"

export interface ToolPair {
  call: ContextToolCall
  result: ContextToolResult
}

/**
 * Makes the call and its one result from a tool part in any state: a call without a result becomes an interrupted one.
 * Call ids that occur twice, as in imported histories, are made unique.
 */
export function toolPairs(options: {
  isPruned: (partID: string) => boolean
}): (part: PartOf<"tool">) => ToolPair {
  const unique = uniqueNames()
  return (part) => {
    const callID = unique(part.callID)
    const { tool, state, metadata } = part
    return {
      call: { type: "tool-call", callID, tool, input: state.input, ...(metadata && { metadata }) },
      result: { type: "tool-result", callID, tool, ...outcome(state, options.isPruned(part.id)) },
    }
  }
}

function outcome(
  state: ToolState,
  isPruned: boolean,
): Pick<ContextToolResult, "isError" | "output" | "attachments"> {
  if (state.status === "error") return { isError: true, output: state.error }
  if (state.status !== "completed") return { isError: true, output: interruptedText }
  if (isPruned || state.time.compacted !== undefined) return { isError: false, output: prunedNotice }
  const { output, attachments = [] } = state
  return {
    isError: false,
    output,
    ...(attachments.length > 0 && { attachments: attachments.map(contextFile) }),
  }
}

export function contextFile(file: { mime: string; url: string; filename?: string }): ContextFile {
  const { mime, url, filename } = file
  return { type: "file", mime, url, ...(filename !== undefined && { filename }) }
}

/** The ids of the tool parts whose output the prune marks in `parts` hide. */
export function prunedParts(parts: Iterable<Part>): Set<string> {
  const pruned = new Set<string>()
  for (const part of parts) {
    if (part.type === "step-start") for (const id of part.prune?.parts ?? []) pruned.add(id)
  }
  return pruned
}

function uniqueNames(): (name: string) => string {
  const taken = new Set<string>()
  const counts = new Map<string, number>()
  return (name) => {
    let count = counts.get(name) ?? 0
    let candidate: string
    do candidate = ++count === 1 ? name : `${name}_${count}`
    while (taken.has(candidate))
    counts.set(name, count)
    taken.add(candidate)
    return candidate
  }
}
