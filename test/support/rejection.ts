import { expect } from "vitest"
import { type ErrorCode, StemmaError } from "../../src/protocol/index.ts"

/** The reason with which the promise is rejected. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error("The call was expected to fail, and did not.")
}

/** Expects a StemmaError with the code, and a message that says what is wrong and then what to do. */
export function expectHelpful(error: unknown, code: ErrorCode): void {
  if (!StemmaError.is(error)) throw new Error("The error is not a StemmaError.", { cause: error })
  expect(`${error.code}: ${error.message}`).toMatch(new RegExp(`^${code}: `))
  expectSentence(error.message)
}

export function expectSentence(message: string): void {
  expect(message).toMatch(/^\S.{15,}([.:;,] \S| must ).*$/s)
  expect(message).not.toMatch(/SQLITE_BUSY|database is locked|undefined|\[object/)
}
