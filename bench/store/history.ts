import type { AssistantBody, NewSession } from "../../src/protocol/index.ts"
import type { Op } from "../../src/stores/commit.ts"
import type { Store } from "../../src/stores/store.ts"
import { assistantMessage, finished, type Ids, newSession, textPart, userMessage } from "./content.ts"

const opsPerCommit = 500

export interface MadeSession {
  sessionID: string
  lastMessageID: string
}

/** Imports a session with this many small sealed messages, prompts and answers alternately. */
export async function importSession(
  store: Store,
  ids: Ids,
  { messages, session = {} }: { messages: number; session?: Partial<NewSession> },
): Promise<MadeSession> {
  const made = newSession(ids, session)
  const sessionID = made.id
  let ops: Op[] = [{ op: "session.create", session: made, segment: ids.next("segment"), importing: true }]
  let lastMessageID = ""
  for (let position = 0; position < messages; position++) {
    const message = position % 2 === 0 ? userMessage(ids) : finished(assistantMessage(ids, lastMessageID))
    const parts = [textPart(ids, `Message ${position} says what a short message says, and a little more.`)]
    ops.push({ op: "message.append", sessionID, message, parts, sealed: true })
    lastMessageID = message.id
    if (ops.length < opsPerCommit) continue
    await store.commit({ ops })
    ops = []
  }
  ops.push({ op: "session.publish", sessionID })
  await store.commit({ ops })
  return { sessionID, lastMessageID }
}

export interface OpenAnswer {
  sessionID: string
  message: AssistantBody
  partID: string
}

/** Makes a session with a prompt and an open answer that has one empty text part. */
export async function openAnswer(store: Store, ids: Ids): Promise<OpenAnswer> {
  const session = newSession(ids)
  const sessionID = session.id
  const prompt = userMessage(ids)
  const message = assistantMessage(ids, prompt.id)
  const part = textPart(ids, "")
  await store.commit({
    ops: [
      { op: "session.create", session, segment: ids.next("segment") },
      {
        op: "message.append",
        sessionID,
        message: prompt,
        parts: [textPart(ids, "Tell me more.")],
        sealed: true,
      },
      { op: "message.append", sessionID, message, parts: [part] },
    ],
  })
  return { sessionID, message, partID: part.id }
}
