/** The value as JSON has it. What JSON cannot say is an error with a sentence, before anything is written. */
export function plainData<T>(value: T, what: string): T {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch {
    // Said below.
  }
  if (text === undefined) throw new Error(`${what} is no data. Give plain objects, lists, texts and numbers.`)
  return JSON.parse(text) as T
}
