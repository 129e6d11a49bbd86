import { z } from "zod"
import { SharedHeader, SharedMessage } from "../shapes.ts"

/** What a reader of a shared session is told. */
export const SharedEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("reset").describe("What was shown is void: all of it follows") }),
  z.object({ type: z.literal("session"), properties: SharedHeader }),
  z.object({ type: z.literal("message"), properties: SharedMessage }),
  z.object({ type: z.literal("synced").describe("That is all there is for now") }),
  z.object({ type: z.literal("ended").describe("The last: it is not shared any more") }),
  z.object({ type: z.literal("changed").describe("The last: other things are shared now") }),
])
export type SharedEvent = z.infer<typeof SharedEvent>
