import { StemmaError } from "../protocol/index.ts"

export function toStemmaError(error: unknown): StemmaError {
  if (StemmaError.is(error)) return error
  return new StemmaError(
    "internal",
    "The hub could not read the changes of the store. Subscribe again from the last cursor.",
    { cause: error },
  )
}

export function hubClosed(): StemmaError {
  return new StemmaError("unavailable", "The hub is closed. Create a new hub.")
}

export function wrongBufferMax(bufferMax: number): StemmaError {
  return new StemmaError(
    "invalid",
    `bufferMax is ${String(bufferMax)}, but must be a whole number of at least 1.`,
    {
      details: { bufferMax: String(bufferMax) },
    },
  )
}

export function scopeMissing(): StemmaError {
  return new StemmaError("invalid", "`since` needs a scope. Name a session, a tree or a directory.")
}
