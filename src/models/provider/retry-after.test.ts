import { expect, test } from "vitest"
import { retryAfterMs } from "./retry-after.ts"

const nowMs = Date.parse("2026-11-15T12:00:00Z")
const of = (headers: Record<string, string>, body?: unknown) => retryAfterMs({ headers, body, nowMs })

test.each([
  [{ "retry-after-ms": "250" }, 250],
  [{ "retry-after": "2" }, 2000],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "Sun, 15 Nov 2026 12:00:30 GMT" }, 30_000],
  [{ "retry-after": "Sun, 15 Nov 2026 11:00:00 GMT" }, 0],
  [{ "retry-after": "soon" }, undefined],
  [{ "retry-after": "-5" }, undefined],
  [{ "retry-after": "604800" }, 604_800_000],
  [{ "retry-after": "99999999" }, undefined],
  [{ "retry-after": "" }, undefined],
  [{}, undefined],
])("%j is %s ms", (headers, expected) => {
  expect(of(headers as Record<string, string>)).toBe(expected)
})

test.each([
  [{ error: { metadata: { retry_after: 3 } } }, 3000],
  [{ error: { details: [{ retryDelay: "1.5s" }] } }, 1500],
  [{ retry_after_ms: 40 }, 40],
  ["text", undefined],
])("%j in a body is %s ms", (body, expected) => {
  expect(of({}, body)).toBe(expected)
})
