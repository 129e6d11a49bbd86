import { z } from "zod"
import { JsonObject } from "../../protocol/index.ts"

const text = {
  text: z.string().describe("To be added"),
  partId: z.string(),
  offset: z.number().int().nonnegative().describe("Where it begins, in UTF-16 units"),
}
const tokens = z.number().int().nonnegative().optional()

/** What a chat stream says. */
export const ChatEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("start"), sessionId: z.string(), messageId: z.string() }),
  z.object({ type: z.literal("text_delta"), ...text }),
  z.object({ type: z.literal("thinking_delta"), ...text }),
  z.object({
    type: z
      .literal("reset")
      .describe("What was said of a part is void: the call of the model failed and is tried again"),
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
    type: z.literal("done").describe("The last one"),
    sessionId: z.string(),
    tokenEstimate: z.number().int().nonnegative(),
  }),
])
export type ChatEvent = z.infer<typeof ChatEvent>
