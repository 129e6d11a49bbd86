import { findJsonExcess } from "../../protocol/index.ts"

/** Deeper data has no use. Stores refuse it. */
export const dataDepthMax = 100

/** A copy of the value through JSON. Throws an error that names `what` if JSON cannot represent the value. */
export function plainData<T>(value: T, what: string): T {
  let text: string | undefined
  let isDeep = false
  try {
    text = JSON.stringify(value)
  } catch (error) {
    // A cycle or a BigInt: reported below, like a value without JSON.
    isDeep = error instanceof RangeError
  }
  if (isDeep || (text !== undefined && findJsonExcess(text, { depthMax: dataDepthMax }))) {
    throw new Error(`${what} is nested deeper than ${dataDepthMax} levels. Use less nesting.`)
  }
  if (text === undefined) {
    throw new Error(`${what} cannot be converted to JSON. Use plain objects, arrays, strings and numbers.`)
  }
  return JSON.parse(text) as T
}
