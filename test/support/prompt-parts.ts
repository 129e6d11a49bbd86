import { Buffer } from "node:buffer"
import type { Part, SessionHandle, Store } from "../../src/index.ts"

type PartOf<T extends Part["type"]> = Extract<Part, { type: T }>

/** What the last prompt of a session came to. */
export interface PromptParts {
  parts: Part[]
  files: PartOf<"file">[]
  agents: PartOf<"agent">[]
  /** What was said to the model about its references. */
  notes: string[]
}

export async function promptParts(session: SessionHandle): Promise<PromptParts> {
  const item = (await session.messages()).findLast(({ message }) => message.role === "user")
  const parts = item?.parts ?? []
  return {
    parts,
    files: parts.filter((part) => part.type === "file"),
    agents: parts.filter((part) => part.type === "agent"),
    notes: parts.flatMap((part) => (part.type === "text" && part.synthetic ? [part.text] : [])),
  }
}

/** The bytes of a file part, as they are kept. */
export async function keptBytes(store: Store, { url }: { url: string }): Promise<Buffer> {
  return Buffer.from(await store.blobs.get(url.slice("blob:".length)))
}
