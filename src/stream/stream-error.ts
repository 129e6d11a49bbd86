import { StemmaError } from "../protocol/index.ts"

export function toStemmaError(error: unknown): StemmaError {
  if (StemmaError.is(error)) return error
  return new StemmaError(
    "internal",
    "The changes of the store could not be followed. Subscribe again from the last cursor.",
    { cause: error },
  )
}

export function hubClosed(): StemmaError {
  return new StemmaError("unavailable", "The hub is closed. Create another one.")
}

export function wrongBuffer(bufferMax: number): StemmaError {
  return new StemmaError(
    "invalid",
    "bufferMax is not a whole number of at least 1. Give one, or leave it out.",
    {
      details: { bufferMax: String(bufferMax) },
    },
  )
}

export function scopeMissing(): StemmaError {
  return new StemmaError(
    "invalid",
    "Without a scope nothing can be continued from a cursor. Name a session, a tree or a directory.",
  )
}
