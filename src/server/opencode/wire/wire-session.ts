import { z } from "zod"
import { Ruleset, SessionStatus, Tokens } from "../../../protocol/index.ts"

const count = z.number().int().nonnegative()

export const WireFileDiff = z.object({
  file: z.string().optional(),
  patch: z.string().optional().describe("In unified diff format; absent for large files"),
  additions: count,
  deletions: count,
  status: z.enum(["added", "deleted", "modified"]).optional(),
})
export type WireFileDiff = z.infer<typeof WireFileDiff>

export const WireSession = z.object({
  id: z.string(),
  slug: z.string(),
  projectID: z.string(),
  directory: z.string(),
  parentID: z.string().optional(),
  summary: z.object({ additions: count, deletions: count, files: count }).optional(),
  cost: z.number(),
  tokens: Tokens,
  share: z.object({ url: z.string() }).optional(),
  title: z.string(),
  agent: z.string().optional(),
  model: z.object({ id: z.string(), providerID: z.string() }).optional(),
  version: z.string(),
  time: z.object({
    created: z.number(),
    updated: z.number(),
    compacting: z.number().optional(),
    archived: z.number().optional(),
  }),
  permission: Ruleset.optional(),
  revert: z
    .object({
      messageID: z.string(),
      partID: z.string().optional(),
      snapshot: z.string().optional(),
      diff: z.string().optional(),
    })
    .optional(),
})
export type WireSession = z.infer<typeof WireSession>

export const WireStatuses = z.record(z.string(), SessionStatus)

export const WireTodo = z.object({ content: z.string(), status: z.string(), priority: z.string() })
export type WireTodo = z.infer<typeof WireTodo>

export const WirePermission = z.object({
  id: z.string(),
  sessionID: z.string(),
  permission: z.string(),
  patterns: z.array(z.string()),
  metadata: z.record(z.string(), z.unknown()),
  always: z.array(z.string()),
  tool: z.object({ messageID: z.string(), callID: z.string() }).optional(),
})
export type WirePermission = z.infer<typeof WirePermission>

/** The shape of an error. `_tag` repeats `name`, because the OpenCode client has errors of both kinds. */
export const WireError = z.looseObject({
  name: z.string(),
  _tag: z.string(),
  data: z.looseObject({ message: z.string() }),
  code: z.string(),
  message: z.string(),
})
