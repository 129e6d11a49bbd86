/**
 * A pattern that matches any of the words or phrases. English ones must be whole words; Chinese ones match anywhere,
 * because Chinese has no spaces. The lists are separated by commas and may contain regular expressions.
 */
export function wordPattern({ english, chinese }: { english: string; chinese: string }): RegExp {
  return new RegExp(`\\b(?:${entries(english)})\\b|${entries(chinese)}`, "i")
}

function entries(list: string): string {
  return list
    .split(/,(?!\d*\})/)
    .map((entry) => entry.trim().replace(/\s+/g, " "))
    .filter((entry) => entry !== "")
    .join("|")
}
