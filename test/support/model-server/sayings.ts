import { words } from "./commands.ts"
import type { WireProtocol } from "./protocol.ts"

export interface Saying {
  protocol: WireProtocol
  count: number
  includeUsage: boolean
}

/** The whole stream of `say N`, each built once, because a benchmark measures its client, not this server. */
export function createSayings(): (saying: Saying) => Buffer {
  const built = new Map<string, Buffer>()
  return ({ protocol, count, includeUsage }) => {
    const key = `${protocol.name} ${count} ${includeUsage}`
    const known = built.get(key)
    if (known) return known
    const frames = protocol.frames({ text: words(count) }, { includeUsage, callID: String })
    const bytes = Buffer.from(frames.head + frames.deltas.join("") + frames.tail)
    built.set(key, bytes)
    return bytes
  }
}
