/**
 * A pattern that finds any of the words or phrases. English ones stand by themselves, Chinese ones anywhere, since Chinese
 * has no spaces. Entries are separated by commas and may be patterns.
 */
export function signs({ english, chinese }: { english: string; chinese: string }): RegExp {
  return new RegExp(`\\b(?:${entries(english)})\\b|${entries(chinese)}`, "i")
}

function entries(list: string): string {
  return list
    .split(/,(?!\d*\})/)
    .map((entry) => entry.trim().replace(/\s+/g, " "))
    .filter((entry) => entry !== "")
    .join("|")
}
