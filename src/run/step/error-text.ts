/** The message of a thrown value of any type. Never throws. */
export function errorText(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message : String(error)
    if (typeof text === "string" && text !== "") return text
  } catch {
    // A getter of the thrown value throws, or `String` cannot convert the value.
  }
  return "It failed without an error message."
}
