import type { MessageError } from "../../../protocol/index.ts"
import type { WireApiError, WireMessageError } from "./wire-message.ts"

/** The OpenCode client has no names for Stemma's own errors, so only their message is kept. */
export function toWireError(error: MessageError): WireMessageError {
  switch (error.name) {
    case "DoomLoopError":
    case "BudgetError":
    case "InterruptedError":
      return { name: "UnknownError", data: { message: error.data.message } }
    default:
      return error
  }
}

export function toWireApiError(error: MessageError): WireApiError {
  if (error.name === "APIError") return error
  return { name: "APIError", data: { message: error.data.message ?? error.name, isRetryable: true } }
}
