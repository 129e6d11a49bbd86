/** Limits are set back after a month at most; a larger number is a mistake or an attack. */
const longestMs = 31 * 24 * 60 * 60 * 1000

export interface RetryAfterSource {
  headers?: Record<string, string>
  /** The error that the provider sent, parsed: some name the wait only there. */
  body?: unknown
  nowMs: number
}

/** How long the provider wants us to wait. A wait that is over is 0; undefined if it does not say, or makes no sense. */
export function retryAfterMs({ headers = {}, body, nowMs }: RetryAfterSource): number | undefined {
  const milliseconds = fromText(headers["retry-after-ms"], 1)
  if (milliseconds !== undefined) return milliseconds
  const header = headers["retry-after"]
  const seconds = fromText(header, 1000)
  if (seconds !== undefined) return seconds
  const date = header !== undefined && /[a-z]{3}/i.test(header) ? Date.parse(header) : Number.NaN
  if (!Number.isNaN(date)) return sensible(Math.max(0, date - nowMs))
  return fromBody(body, 0)
}

function fromText(text: unknown, factor: number): number | undefined {
  const number =
    typeof text === "number" ? text : typeof text === "string" && text.trim() ? Number(text) : NaN
  return Number.isNaN(number) || number < 0 ? undefined : sensible(number * factor)
}

function sensible(ms: number): number | undefined {
  return ms <= longestMs ? Math.ceil(ms) : undefined
}

/** `retry_after_ms`, `retry_after` in seconds, or Google's `retryDelay: "13s"`, at any depth that errors have. */
function fromBody(value: unknown, depth: number): number | undefined {
  if (typeof value !== "object" || value === null || depth > 4) return undefined
  const record = value as Record<string, unknown>
  const delay = typeof record.retryDelay === "string" ? /^([\d.]+)s$/.exec(record.retryDelay)?.[1] : undefined
  const found =
    fromText(record.retry_after_ms, 1) ?? fromText(record.retry_after, 1000) ?? fromText(delay, 1000)
  if (found !== undefined) return found
  for (const inner of Object.values(record).slice(0, 20)) {
    const nested = fromBody(inner, depth + 1)
    if (nested !== undefined) return nested
  }
  return undefined
}
