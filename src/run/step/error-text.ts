/** What something that was thrown says; whatever was thrown, this does not throw. */
export function errorText(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message : String(error)
    if (typeof text === "string" && text !== "") return text
  } catch {
    // It cannot even be read.
  }
  return "It failed without saying why."
}
