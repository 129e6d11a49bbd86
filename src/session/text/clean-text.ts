const replacement = "\ufffd"
/** For a text of up to this length, one loop over its units is faster than two native calls. */
const shortLength = 24

/** Replaces NUL and lone surrogates, which not every store can keep, by U+FFFD. The length stays the same. */
export function cleanText(text: string): string {
  if (text.length <= shortLength && isClean(text)) return text
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed()
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", replacement) : wellFormed
}

function isClean(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === 0 || (unit & 0xf800) === 0xd800) return false
  }
  return true
}

/**
 * The same value with every string in it cleaned, keys included. Returns the same object if nothing had to be cleaned.
 */
export function cleanDeep<T>(value: T): T {
  if (typeof value === "string") return cleanText(value) as T
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined
    for (let i = 0; i < value.length; i++) {
      const cleaned = cleanDeep(value[i])
      if (cleaned !== value[i] && copy === undefined) copy = value.slice(0, i)
      copy?.push(cleaned)
    }
    return (copy ?? value) as T
  }
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value)
  let changed = false
  for (const entry of entries) {
    const key = cleanText(entry[0])
    const cleaned = cleanDeep(entry[1])
    if (key !== entry[0] || cleaned !== entry[1]) changed = true
    entry[0] = key
    entry[1] = cleaned
  }
  return changed ? (Object.fromEntries(entries) as T) : value
}
