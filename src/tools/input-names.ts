import { z } from "zod"

/** The inputs that several tools share: named and described alike. */
export const filePath = z
  .string()
  .min(1)
  .max(4_096)
  .describe("The file: relative to the session's directory, or absolute.")

export const searchPath = z
  .string()
  .min(1)
  .max(4_096)
  .optional()
  .describe(
    "Where to look: relative to the session's directory, or absolute. The session's directory if absent.",
  )
