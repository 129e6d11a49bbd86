import { z } from "zod"

const message = z.string()

/** Why an assistant message failed. */
export const MessageError = z.discriminatedUnion("name", [
  z.object({ name: z.literal("ProviderAuthError"), data: z.object({ providerID: z.string(), message }) }),
  z.object({
    name: z.literal("APIError"),
    data: z.object({
      message,
      statusCode: z.number().int().optional(),
      isRetryable: z.boolean(),
      responseHeaders: z.record(z.string(), z.string()).optional(),
      responseBody: z.string().optional(),
    }),
  }),
  z.object({ name: z.literal("ContextOverflowError"), data: z.object({ message }) }),
  z.object({ name: z.literal("MessageOutputLengthError"), data: z.object({ message: message.optional() }) }),
  z.object({ name: z.literal("MessageAbortedError"), data: z.object({ message }) }),
  z.object({ name: z.literal("DoomLoopError"), data: z.object({ message, tool: z.string().optional() }) }),
  z.object({ name: z.literal("BudgetError"), data: z.object({ message }) }),
  z.object({ name: z.literal("InterruptedError"), data: z.object({ message }) }),
  z.object({ name: z.literal("UnknownError"), data: z.object({ message }) }),
])
export type MessageError = z.infer<typeof MessageError>
