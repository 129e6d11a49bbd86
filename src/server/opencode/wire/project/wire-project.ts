import { z } from "zod"
import { WireProvider } from "../wire-directory.ts"

export const WireCommand = z.object({
  name: z.string(),
  description: z.string().optional(),
  agent: z.string().optional(),
  model: z.string().optional(),
  source: z.literal("command"),
  template: z.string(),
  subtask: z.boolean().optional(),
  hints: z.array(z.string()).describe("The placeholders of the template, such as $ARGUMENTS and $1"),
})
export type WireCommand = z.infer<typeof WireCommand>

export const WireSkill = z.object({
  name: z.string(),
  description: z.string(),
  location: z.string().describe("The path of SKILL.md"),
  content: z.string(),
})
export type WireSkill = z.infer<typeof WireSkill>

export const WireProviderList = z.object({
  all: z.array(WireProvider),
  default: z.record(z.string(), z.string()),
  connected: z.array(z.string()),
})

export const WireVcs = z.object({
  branch: z.string().optional().describe("Absent without a repository, and on no branch"),
  default_branch: z.string().optional(),
})
export type WireVcs = z.infer<typeof WireVcs>

export const WireVcsDiff = z.object({
  file: z.string(),
  patch: z.string().optional().describe("In unified diff format; absent for large and binary files"),
  additions: z.number().int().nonnegative(),
  deletions: z.number().int().nonnegative(),
  status: z.enum(["added", "deleted", "modified"]).optional(),
})
export type WireVcsDiff = z.infer<typeof WireVcsDiff>

export const WireProjectDirectories = z.array(z.object({ directory: z.string() }))

export const WireHealth = z.object({ healthy: z.literal(true), version: z.string() })

/** Features of the OpenCode server that Stemma does not have. */
export const NoList = z.array(z.never()).describe("Always empty")
export const NoRecord = z.record(z.string(), z.never()).describe("Always empty")
export const WireCapabilities = z.object({ backgroundSubagents: z.literal(false) })
export const WireConsole = z.object({
  consoleManagedProviders: NoList,
  switchableOrgCount: z.literal(0),
})
