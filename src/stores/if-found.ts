import { StemmaError } from "../protocol/index.ts"

/** The result of a read; undefined if the session, message or blob does not exist any more. */
export async function ifFound<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (StemmaError.is(error, "not_found")) return undefined
    throw error
  }
}
