/** The closed set of reasons why a call of Stemma can fail. Without zod, for the client in a browser. */
export const errorCodes = [
  "not_found",
  "conflict",
  "invalid",
  "denied",
  "unsupported",
  "unavailable",
  "internal",
] as const
