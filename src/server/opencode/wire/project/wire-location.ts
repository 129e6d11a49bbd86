import { z } from "zod"

const texts = z.record(z.string(), z.string())
const values = z.record(z.string(), z.unknown())
const request = z
  .object({ headers: texts, body: values })
  .describe("Always empty, because headers and options may contain keys")
const modelRef = z.object({ id: z.string(), providerID: z.string() })
const native = { type: z.literal("native"), settings: values.describe("Always empty") }

/** A directory and its project. */
export const WireLocation = z.object({
  directory: z.string(),
  project: z.object({ id: z.string(), directory: z.string() }),
})
export type WireLocation = z.infer<typeof WireLocation>

/** The answer of a route below `/api`: a list, with the location that it belongs to. */
export function locatedList<T extends z.ZodType>(item: T) {
  return z.object({ location: WireLocation, data: z.array(item) })
}

export const WireLocatedAgent = z.object({
  id: z.string(),
  model: modelRef.optional(),
  request,
  system: z.string().optional(),
  description: z.string().optional(),
  mode: z.enum(["subagent", "primary", "all"]),
  hidden: z.boolean(),
  steps: z.number().optional(),
  permissions: z.array(
    z.object({ action: z.string(), resource: z.string(), effect: z.enum(["allow", "deny", "ask"]) }),
  ),
})
export type WireLocatedAgent = z.infer<typeof WireLocatedAgent>

export const WireLocatedCommand = z.object({
  name: z.string(),
  template: z.string(),
  description: z.string().optional(),
  agent: z.string().optional(),
  model: modelRef.optional(),
  subtask: z.boolean().optional(),
})
export type WireLocatedCommand = z.infer<typeof WireLocatedCommand>

export const WireLocatedProvider = z.object({
  id: z.string(),
  name: z.string(),
  api: z.object(native),
  request,
})
export type WireLocatedProvider = z.infer<typeof WireLocatedProvider>

export const WireLocatedModel = z.object({
  id: z.string(),
  providerID: z.string(),
  name: z.string(),
  api: z.object({ id: z.string(), ...native }),
  capabilities: z.object({ tools: z.boolean(), input: z.array(z.string()), output: z.array(z.string()) }),
  request,
  variants: z.array(z.never()).describe("Always empty"),
  time: z.object({ released: z.number() }),
  cost: z.array(
    z.object({
      input: z.number(),
      output: z.number(),
      cache: z.object({ read: z.number(), write: z.number() }),
    }),
  ),
  status: z.literal("active"),
  enabled: z.boolean(),
  limit: z.object({ context: z.number(), output: z.number() }),
})
export type WireLocatedModel = z.infer<typeof WireLocatedModel>

export const WireEntry = z.object({ path: z.string(), type: z.enum(["file", "directory"]) })
export type WireEntry = z.infer<typeof WireEntry>
