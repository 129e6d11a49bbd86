import { z } from "zod"

/** The closed set of reasons why a call of Stemma can fail. */
export const ErrorCode = z.enum([
  "not_found",
  "conflict",
  "invalid",
  "denied",
  "unsupported",
  "unavailable",
  "internal",
])
export type ErrorCode = z.infer<typeof ErrorCode>
