import { z } from "zod"

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** A JSON object of unknown shape: tool input, metadata. */
export const JsonObject = z.record(z.string(), z.unknown())
export type JsonObject = z.infer<typeof JsonObject>
