import { createHash } from "node:crypto"
import type { Api } from "../provider/providers.ts"

/**
 * The tool call ids that each API accepts. An API refuses the whole request for one id that does not fit, and so every
 * later request of the session. The chat APIs accept `functions.read:0`, which some of their models need back
 * unchanged.
 */
const fitID: Record<Api, RegExp> = {
  anthropic: /^[A-Za-z0-9_-]{1,64}$/,
  google: /^[A-Za-z0-9_-]{1,64}$/,
  "openai-responses": /^[A-Za-z0-9_-]{1,64}$/,
  "openai-chat": /^[A-Za-z0-9_.:-]{1,40}$/,
  "openai-compatible": /^[A-Za-z0-9_.:-]{1,64}$/,
}

/** The form of replaced ids. An id that already has this form is replaced too, so that no two ids become the same. */
const madeID = /^stemma_[0-9a-f]{32}$/

/** The id that is sent for a call and for its result. Different ids stay different. */
export function fitCallID(id: string, api: Api): string {
  return fitID[api].test(id) && !madeID.test(id) ? id : `stemma_${hashOf(id, 32)}`
}

/** Google refuses names that start with a digit. */
const fitName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** The tool name that is sent to any API, also for a tool that does not exist. Different names stay different. */
export function fitToolName(name: string): string {
  if (fitName.test(name)) return name
  const readable = name.slice(0, 40).replace(/[^A-Za-z0-9_-]+/g, "_")
  return `_${readable}_${hashOf(name, 16)}`
}

/** Maps sent tool names back to the tools' own names; undefined if all names fit. */
export function ownToolNames(tools: readonly { name: string }[]): Map<string, string> | undefined {
  const changed = tools.filter(({ name }) => !fitName.test(name))
  return changed.length > 0 ? new Map(changed.map(({ name }) => [fitToolName(name), name])) : undefined
}

function hashOf(text: string, digits: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits)
}
