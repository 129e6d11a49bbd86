import { z } from "zod"

const count = z.number().int().nonnegative()

export const Tokens = z.object({
  input: count,
  output: count,
  reasoning: count,
  cache: z.object({ read: count, write: count }),
})
export type Tokens = z.infer<typeof Tokens>

export const ModelRef = z.object({ providerID: z.string().min(1), modelID: z.string().min(1) })
export type ModelRef = z.infer<typeof ModelRef>

/** Dollars per million tokens, as decimal numbers. */
export const Price = z.object({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cache: z.object({ read: z.number().nonnegative(), write: z.number().nonnegative() }).optional(),
})
export type Price = z.infer<typeof Price>

/** A new object each time, because callers add to it in place. */
export function noTokens(): Tokens {
  return { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
}
