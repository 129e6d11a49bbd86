import { z } from "zod"
import { SharedHeader, SharedMessage } from "../../../protocol/routes/share-shapes.ts"

/** An event for readers of a shared session. */
export const SharedEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("reset").describe("Drop all messages: they are sent again") }),
  z.object({ type: z.literal("session"), properties: SharedHeader }),
  z.object({ type: z.literal("message"), properties: SharedMessage }),
  z.object({ type: z.literal("synced").describe("All messages so far were sent") }),
  z.object({ type: z.literal("ended").describe("The last event: the session is no longer shared") }),
  z.object({ type: z.literal("changed").describe("The last event: the options of the share changed") }),
])
export type SharedEvent = z.infer<typeof SharedEvent>
