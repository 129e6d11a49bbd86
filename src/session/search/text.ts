import type { PartBody, SearchKind } from "../../protocol/index.ts"

export interface SearchText {
  kind: SearchKind
  text: string
}

/** The searchable text of a part; undefined if it has none. Each line is one field of the part, in a fixed order. */
export function searchText(part: PartBody): SearchText | undefined {
  switch (part.type) {
    case "text":
    case "reasoning":
      return searchable(part.type, [part.text])
    case "tool":
      return searchable("tool", toolLines(part))
    case "file":
      return searchable("file", [part.filename, part.source?.path, readableUrl(part.url)])
    case "subtask":
      return searchable("other", [part.description, part.prompt])
    case "compaction":
      return searchable("other", [part.summary, part.ledger])
    case "patch":
      return searchable("other", part.files)
    case "agent":
    case "retry":
    case "snapshot":
    case "step-start":
    case "step-finish":
      return undefined
  }
}

function searchable(kind: SearchKind, lines: readonly (string | undefined)[]): SearchText | undefined {
  const text = lines.filter((line) => line !== undefined && line !== "").join("\n")
  return text.trim() === "" ? undefined : { kind, text }
}

function toolLines({ tool, state }: PartBody & { type: "tool" }): (string | undefined)[] {
  const lines: (string | undefined)[] = [tool]
  if (state.status === "running" || state.status === "completed") lines.push(state.title)
  addStrings(lines, state.input)
  switch (state.status) {
    case "pending":
      lines.push(state.raw)
      break
    case "running":
      lines.push(state.output)
      break
    case "completed":
      lines.push(state.output)
      for (const file of state.attachments ?? []) lines.push(file.filename, readableUrl(file.url))
      break
    case "error":
      lines.push(state.error)
  }
  return lines
}

function addStrings(lines: (string | undefined)[], value: unknown): void {
  if (typeof value === "string") lines.push(value)
  else if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) addStrings(lines, inner)
  }
}

/** A URL as people write it; undefined for a URL that holds its content or names a blob. */
function readableUrl(url: string): string | undefined {
  if (/^(?:data|blob):/i.test(url)) return undefined
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}
