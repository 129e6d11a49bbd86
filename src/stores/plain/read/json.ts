/** Returns a deep copy of JSON data. Fields that are undefined are left out. */
export function copyJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => copyJson(item)) as T
  if (typeof value !== "object" || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    // An assignment to `__proto__` would set the prototype instead of a field.
    if (key === "__proto__") Object.defineProperty(copy, key, { value: copyJson(inner), ...ownField })
    else copy[key] = copyJson(inner)
  }
  return copy as T
}

const ownField = { enumerable: true, configurable: true, writable: true }
