import { Buffer } from "node:buffer"
import type { Part, SessionHandle, Store } from "../../src/index.ts"

type PartOf<T extends Part["type"]> = Extract<Part, { type: T }>

/** The parts of the last prompt of a session. */
export interface PromptParts {
  parts: Part[]
  files: PartOf<"file">[]
  agents: PartOf<"agent">[]
  /** The texts for the model about the references of the prompt. */
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

/** The stored bytes of a file part. */
export async function keptBytes(store: Store, { url }: { url: string }): Promise<Buffer> {
  return Buffer.from(await store.blobs.get(url.slice("blob:".length)))
}
