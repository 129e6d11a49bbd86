import { z } from "zod"
import { JsonObject } from "../../protocol/index.ts"

const text = {
  text: z.string().describe("The text to append"),
  partId: z.string(),
  offset: z.number().int().nonnegative().describe("Where the text begins, in UTF-16 units"),
}
const tokens = z.number().int().nonnegative().optional()

/** An event of a chat stream. */
export const ChatEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("start"), sessionId: z.string(), messageId: z.string() }),
  z.object({ type: z.literal("text_delta"), ...text }),
  z.object({ type: z.literal("thinking_delta"), ...text }),
  z.object({
    type: z.literal("reset").describe("Drop the text of this part: the model call failed and is retried"),
    partId: z.string(),
  }),
  z.object({ type: z.literal("tool_call"), id: z.string(), name: z.string(), input: JsonObject }),
  z.object({
    type: z.literal("tool_result"),
    id: z.string(),
    name: z.string(),
    output: z.string(),
    isError: z.boolean(),
  }),
  z.object({ type: z.literal("compaction_start") }),
  z.object({ type: z.literal("compaction_end"), tokensBefore: tokens, tokensAfter: tokens }),
  z.object({ type: z.literal("error"), name: z.string(), message: z.string() }),
  z.object({
    type: z.literal("done").describe("The last event"),
    sessionId: z.string(),
    tokenEstimate: z.number().int().nonnegative(),
  }),
])
export type ChatEvent = z.infer<typeof ChatEvent>
