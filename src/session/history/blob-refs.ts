import type { PartBody } from "../../protocol/index.ts"

const blobUrl = /^blob:([0-9a-f]{64})$/

const none: readonly string[] = []

function hashOf(url: string): string | undefined {
  return blobUrl.exec(url)?.[1]
}

/** The whole output may be stored as a `blob:` URL or as a bare hash. */
function wholeOutput(named: unknown): readonly string[] {
  return typeof named === "string" && named !== "" ? [hashOf(named) ?? named] : none
}

/**
 * The hashes of the blobs that a part refers to, each once: attachments, and the whole output of a tool or command
 * whose shown output was cut.
 */
export function blobRefs(part: PartBody): readonly string[] {
  if (part.type === "text") return wholeOutput(part.metadata?.outputBlob)
  if (part.type !== "file" && part.type !== "tool") return none
  const hashes = new Set<string>()
  if (part.type === "file") {
    const hash = hashOf(part.url)
    if (hash) hashes.add(hash)
  }
  if (part.type === "tool" && part.state.status === "completed") {
    for (const hash of wholeOutput(part.state.outputBlob)) hashes.add(hash)
    for (const attachment of part.state.attachments ?? []) {
      const hash = hashOf(attachment.url)
      if (hash) hashes.add(hash)
    }
  }
  return [...hashes]
}
