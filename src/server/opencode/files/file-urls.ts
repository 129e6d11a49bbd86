import type { HistoryItem } from "../../../protocol/index.ts"
import type { StoreReader } from "../../../run/index.ts"

/** The maximum size of a file that is sent inside its part, and of all such files in one answer. */
const inlineBytesMax = 1024 * 1024
const answerBytesMax = 16 * 1024 * 1024

interface WireableFile {
  url: string
  mime: string
}

/** The URL of a blob. Other URLs stay as they are. */
export function blobAddress(publicUrl: string): (file: WireableFile) => string {
  return ({ url }) => (url.startsWith("blob:") ? `${publicUrl}/blobs/${url.slice("blob:".length)}` : url)
}

/** Like `blobAddress`, but small files become data URLs. */
export async function inlineUrls(
  items: readonly HistoryItem[],
  { reader, publicUrl }: { reader: StoreReader; publicUrl: string },
): Promise<(file: WireableFile) => string> {
  const address = blobAddress(publicUrl)
  const bytes = new Map<string, string>()
  let left = answerBytesMax
  for (const hash of new Set(items.flatMap(hashesOf))) {
    const size = await reader.blobs.size(hash).catch(() => Number.POSITIVE_INFINITY)
    if (size > Math.min(inlineBytesMax, left)) continue
    const found = await reader.blobs.get(hash).catch(() => undefined)
    if (found === undefined) continue
    left -= size
    bytes.set(hash, Buffer.from(found).toString("base64"))
  }
  return (file) => {
    const data = bytes.get(file.url.slice("blob:".length))
    return data === undefined ? address(file) : `data:${file.mime};base64,${data}`
  }
}

function hashesOf({ parts }: HistoryItem): string[] {
  const files = parts.flatMap((part) => {
    if (part.type === "file") return [part]
    return part.type === "tool" && part.state.status === "completed" ? (part.state.attachments ?? []) : []
  })
  return files.flatMap(({ url }) => (url.startsWith("blob:") ? [url.slice("blob:".length)] : []))
}
