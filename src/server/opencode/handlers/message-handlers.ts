import { type HistoryItem, StemmaError } from "../../../protocol/index.ts"
import type { ServerContext } from "../../http/call.ts"
import type { Handlers } from "../../http/mount.ts"
import type { OpenReaders } from "../live/open-readers.ts"
import type { messageRoutes } from "../routes/message-routes.ts"
import { withBusyError } from "../wire/errors.ts"
import { partNotes } from "../wire/part-notes.ts"
import { findMessage, wireItems } from "./history.ts"

/** Sealed messages never change: a revert, a redaction or a note takes the place of the change. */
export function messageHandlers(server: ServerContext, readers: OpenReaders): Handlers<typeof messageRoutes> {
  const { sessions, reader } = server.stemma
  /** Notes of a message are one value, so they are changed one after the other. */
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
  return {
    async remove({ params: { sessionID, messageID } }) {
      await findMessage(reader, sessionID, messageID)
      const [end] = (await reader.history(sessionID, { take: "end", limit: 1 })).items
      const done =
        end?.message.id === messageID
          ? sessions.revert(sessionID, { messageID })
          : sessions.redact({ sessionID, messageID })
      await server.afterEvents(sessionID, withBusyError<unknown>(sessionID, done))
      return true
    },
    updatePart: ({ params: { sessionID, messageID, partID }, body }) =>
      inTurn(async () => {
        const item = await findMessage(reader, sessionID, messageID)
        checkNote(item, partID)
        const { text, metadata } = body
        const note = { ...(text !== undefined && { text }), ...(metadata && { metadata }) }
        const value = { ...partNotes(item), [partID]: note }
        await sessions.note(sessionID, { messageID, key: "parts", value })
        const [wire] = await wireItems(server, sessionID, [await findMessage(reader, sessionID, messageID)])
        const part = wire!.parts.find(({ id }) => id === partID)!
        const event = { sessionID, part, time: Date.now() }
        readers.send(await reader.session(sessionID), [{ type: "message.part.updated", properties: event }])
        return part
      }),
    async removePart({ params: { sessionID, messageID, partID } }) {
      checkPart(await findMessage(reader, sessionID, messageID), partID)
      await server.afterEvents(sessionID, sessions.redact({ sessionID, messageID, partID }))
      return true
    },
  }
}

function checkPart({ message, parts }: HistoryItem, partID: string): HistoryItem["parts"][number] {
  const part = parts.find(({ id }) => id === partID)
  if (part) return part
  throw new StemmaError("not_found", `Message ${message.id} has no part ${partID}.`)
}

function checkNote(item: HistoryItem, partID: string): void {
  const { type } = checkPart(item, partID)
  if (type === "text" || type === "reasoning" || type === "tool") return
  throw new StemmaError(
    "invalid",
    `A part of the type ${type} cannot have a note. Name a text or a tool call.`,
  )
}
