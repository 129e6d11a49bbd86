import type { ToolState } from "../../protocol/index.ts"

/** The error text that the model sees for a call without a result. */
export const interruptedText = "interrupted: the call was stopped before it had a result"

/** Returns a settled call unchanged, and an unsettled call as a failed one. */
export function interruptTool(state: ToolState, atMs: number): ToolState {
  switch (state.status) {
    case "pending":
      return { status: "error", input: state.input, error: interruptedText, time: { start: atMs, end: atMs } }
    case "running": {
      const { input, metadata } = state
      const time = { start: state.time.start, end: Math.max(state.time.start, atMs) }
      return { status: "error", input, error: interruptedText, ...(metadata && { metadata }), time }
    }
    case "completed":
    case "error":
      return state
  }
}
