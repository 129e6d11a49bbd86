import type { JsonObject } from "../../src/protocol/index.ts"
import type { NewPart } from "./session.ts"

export interface ToolCall {
  tool: string
  input: JsonObject
  output?: string
  error?: string
  title?: string
  metadata?: JsonObject
}

const time = { start: 1_750_000_000_000, end: 1_750_000_001_000 }

/** A settled tool call. `TurnWriter` sets its `callID` when it adds the part to a message. */
export function toolPart({ tool, input, output = "", error, title = "", metadata = {} }: ToolCall): NewPart {
  const state =
    error === undefined
      ? ({ status: "completed", input, output, title, metadata, time } as const)
      : ({ status: "error", input, error, metadata, time } as const)
  return { type: "tool", callID: "call", tool, state }
}
