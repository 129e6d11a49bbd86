import { z } from "zod"
import { MessageID, PartID, SessionID } from "../../../protocol/index.ts"
import { route } from "../../../protocol/routes/index.ts"
import { WirePart } from "../wire/wire-message.ts"
import { directoryQuery } from "./session-routes.ts"

const messageParams = z.object({ sessionID: SessionID, messageID: MessageID })
const partParams = messageParams.extend({ partID: PartID })
const noteTextMax = 100_000

/** What a client may say about a part. The part itself is sealed and stays as it is. */
export const PartNote = z.looseObject({
  id: PartID.optional(),
  messageID: MessageID.optional(),
  text: z.string().max(noteTextMax).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** Sealed messages never change. These routes do what Stemma has instead. */
export const messageRoutes = {
  remove: route({
    method: "DELETE",
    path: "/session/:sessionID/message/:messageID",
    summary:
      "Takes a message away: reverts the session to before it if it is the last message, with the files; else redacts its content for good.",
    params: messageParams,
    query: directoryQuery,
    answer: z.boolean(),
    errors: ["not_found", "conflict"],
  }),
  updatePart: route({
    method: "PATCH",
    path: "/session/:sessionID/message/:messageID/part/:partID",
    summary:
      "Stores `text` and `metadata` as a note beside a part, and returns the part with the note in `metadata.note`. The part itself, which the model reads, does not change.",
    params: partParams,
    query: directoryQuery,
    body: PartNote,
    answer: WirePart,
    errors: ["not_found"],
  }),
  removePart: route({
    method: "DELETE",
    path: "/session/:sessionID/message/:messageID/part/:partID",
    summary: "Redacts the content of a part for good, in every session that shares it.",
    params: partParams,
    query: directoryQuery,
    answer: z.boolean(),
    errors: ["not_found"],
  }),
}
