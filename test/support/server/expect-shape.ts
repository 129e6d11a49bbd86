import { expect } from "vitest"
import type { z } from "zod"

/** Parsing removes fields that the shape does not have, so an answer may contain only fields of its shape. */
export function expectShape(shape: z.ZodType, body: unknown, what: string): void {
  const parsed = shape.safeParse(body)
  expect(parsed.error?.issues ?? [], what).toEqual([])
  expect(parsed.data, what).toEqual(body)
}
