import type { HistoryItem, InboxItem } from "../../../protocol/index.ts"
import type { StoreReader } from "../../../run/index.ts"
import type { ServerContext } from "../../http/call.ts"
import { blobAddress } from "../files/file-urls.ts"
import { toWireMessage } from "../wire/to-wire-message.ts"
import { toWirePart } from "../wire/to-wire-part.ts"
import type { OpenReaders } from "./open-readers.ts"

/** The prompts that wait in the inbox of a session, as messages after its history. */
export async function waitingPrompts(reader: StoreReader, sessionID: string): Promise<HistoryItem[]> {
  return (await reader.inbox(sessionID)).flatMap((item) => (item.type === "prompt" ? [toItem(item)] : []))
}

function toItem({ id, sessionID, message, parts }: Extract<InboxItem, { type: "prompt" }>): HistoryItem {
  return {
    position: Number.MAX_SAFE_INTEGER,
    version: 0,
    sealed: true,
    message: { ...message, sessionID },
    parts: parts.map((part) => ({ ...part, sessionID, messageID: id })),
  }
}

/**
 * Sends a prompt that waits for a busy session to the open streams, so that a person sees it at once. The OpenCode client
 * marks a message after an unfinished answer as queued.
 */
export async function sendWaitingPrompt(
  { stemma, publicUrl }: ServerContext,
  readers: OpenReaders,
  { sessionID, messageID }: { sessionID: string; messageID: string },
): Promise<void> {
  if (readers.isEmpty) return
  const item = (await waitingPrompts(stemma.reader, sessionID)).find(
    ({ message }) => message.id === messageID,
  )
  if (!item) return
  const url = blobAddress(publicUrl())
  readers.send(await stemma.reader.session(sessionID), [
    { type: "message.updated", properties: { sessionID, info: toWireMessage(item.message) } },
    ...item.parts.map((part) => ({
      type: "message.part.updated" as const,
      properties: { sessionID, part: toWirePart(part, { url }), time: item.message.time.created },
    })),
  ])
}
