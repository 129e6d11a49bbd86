import { expect } from "vitest"
import type { z } from "zod"

/** What a shape does not know is cut by it: nothing may be sent that is in no shape. */
export function expectShape(shape: z.ZodType, body: unknown, what: string): void {
  const parsed = shape.safeParse(body)
  expect(parsed.error?.issues ?? [], what).toEqual([])
  expect(parsed.data, what).toEqual(body)
}
