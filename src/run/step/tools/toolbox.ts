import { z } from "zod"
import type { Agent } from "../../../config/agents/agent.ts"
import type { ModelTool } from "../../../models/model.ts"
import type { JsonObject } from "../../../protocol/index.ts"
import { isWhollyDenied, matchWildcard, type PermitLevel } from "../../../session/index.ts"
import type { DescribeContext, Tool } from "../../../tools/tool.ts"
import type { PermissionCheck } from "../../permission/permission-check.ts"
import type { Setup } from "../../project.ts"

/** The permission that a tool needs, where it is not the tool's own name. */
const permissionOf: Record<string, string> = { write: "edit" }

/** The timeout for a tool's `description` function. */
const describeMs = 2000

const schemas = new WeakMap<Tool, JsonObject>()

/** The tools that the model is offered: all except those that are switched off or fully denied. */
export async function offeredTools(options: OfferOptions): Promise<Offer> {
  const { setup, permissionCheck } = options
  if (permissionCheck.agents === undefined || hasOwnDescriptions(setup)) return offer(options)
  const cached = offers.get(setup) ?? new Map<string, Promise<Offer>>()
  offers.set(setup, cached)
  const { agents } = permissionCheck
  let offered = cached.get(agents)
  if (!offered) {
    offered = offer(options)
    cached.set(agents, offered)
    offered.catch(() => cached.delete(agents))
  }
  return offered
}

interface OfferOptions {
  setup: Setup
  agent: Agent
  permissionCheck: PermissionCheck
}

interface Offer {
  tools: ReadonlyMap<string, Tool>
  offered: ModelTool[]
}

/**
 * True if a tool of the embedding program has a `description` function: its text may differ each time, so no caching.
 */
function hasOwnDescriptions(setup: Setup): boolean {
  return setup.tools
    .values()
    .some(({ name, description }) => typeof description === "function" && name !== "skill" && name !== "task")
}

/** A cache for each config, keyed by the agents of a session and its ancestors. */
const offers = new WeakMap<Setup, Map<string, Promise<Offer>>>()

async function offer({ setup, agent, permissionCheck }: OfferOptions): Promise<Offer> {
  const mayDelegate = permissionCheck.depth < setup.loaded.config.task.depth
  const chosen = [...setup.tools.values()].filter(
    (tool) => mayUse(tool.name, permissionCheck) && (mayDelegate || !tool.delegates),
  )
  const context = {
    agent: agent.name,
    decide: (wanted: Parameters<PermissionCheck["decide"]>[0]) => permissionCheck.decide(wanted).action,
  }
  const described = await Promise.all(
    chosen.map(async (tool) => {
      const description = await describe(tool, context)
      return description === undefined ? [] : [{ tool, description }]
    }),
  )
  const usable = described.flat()
  return {
    tools: new Map(usable.map(({ tool }) => [tool.name, tool])),
    offered: usable.map(({ tool, description }) => ({
      name: tool.name,
      description,
      inputSchema: schemaOf(tool),
    })),
  }
}

/** Undefined if the `description` function fails or times out: then the tool is not offered. */
async function describe(tool: Tool, context: DescribeContext): Promise<string | undefined> {
  const { description } = tool
  if (typeof description === "string") return description
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, describeMs, undefined)
  try {
    const text = await Promise.race([(async () => description(context))(), late.promise])
    return typeof text === "string" ? text : undefined
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

/** True if the session and all its ancestors have the tool. */
export function mayUse(tool: string, { levels }: PermissionCheck): boolean {
  return levels.every((level) => isUsable(tool, level))
}

/** True if the tool is not switched off and the rules allow at least some use of it. */
export function isUsable(tool: string, { rulesets, tools: switches = {} }: PermitLevel): boolean {
  return isOn(tool, switches) && !isWhollyDenied(permissionOf[tool] ?? tool, ...rulesets)
}

function isOn(tool: string, switches: Record<string, boolean>): boolean {
  const line = Object.entries(switches).findLast(([name]) => matchWildcard(tool, name))
  return line?.[1] !== false
}

/** The JSON Schema of a tool's input, made once. */
export function schemaOf(tool: Tool): JsonObject {
  const cached = schemas.get(tool)
  if (cached) return cached
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { target: "draft-7", io: "input" })
  schemas.set(tool, schema as JsonObject)
  return schema as JsonObject
}
