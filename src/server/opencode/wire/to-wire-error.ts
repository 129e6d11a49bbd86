import type { MessageError } from "../../../protocol/index.ts"
import type { WireApiError, WireMessageError } from "./wire-message.ts"

/** That client has no names for errors of our own: what they say is kept. */
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
