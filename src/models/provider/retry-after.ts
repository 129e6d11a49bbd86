/** Rate limits reset after a month at most; a larger number is a mistake or an attack. */
const longestMs = 31 * 24 * 60 * 60 * 1000

export interface RetryAfterSource {
  headers?: Record<string, string>
  /** The parsed error of the provider: some providers put the delay only there. */
  body?: unknown
  nowMs: number
}

/** The delay before a retry that the provider asks for; 0 if it is over, undefined if it is absent or not sensible. */
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

/** Finds `retry_after_ms`, `retry_after` in seconds, or Google's `retryDelay: "13s"`, nested up to four levels deep. */
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
