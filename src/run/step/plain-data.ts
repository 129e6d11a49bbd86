/** A copy of the value through JSON. Throws an error that names `what` if JSON cannot represent the value. */
export function plainData<T>(value: T, what: string): T {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch {
    // A cycle or a BigInt: reported below, like a value without JSON.
  }
  if (text === undefined) {
    throw new Error(`${what} cannot be converted to JSON. Use plain objects, arrays, strings and numbers.`)
  }
  return JSON.parse(text) as T
}
