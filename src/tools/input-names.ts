import { z } from "zod"

/** Inputs that several tools share, so that they have the same names and descriptions. */
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
