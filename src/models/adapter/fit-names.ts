import { createHash } from "node:crypto"
import type { Api } from "../provider/providers.ts"

/**
 * What each API takes as the id of a call; one that does not fit makes it refuse the whole request, and with it the
 * session for good. Those of the chat kind take `functions.read:0`, which some of their models want back as it was.
 */
const fitID: Record<Api, RegExp> = {
  anthropic: /^[A-Za-z0-9_-]{1,64}$/,
  google: /^[A-Za-z0-9_-]{1,64}$/,
  "openai-responses": /^[A-Za-z0-9_-]{1,64}$/,
  "openai-chat": /^[A-Za-z0-9_.:-]{1,40}$/,
  "openai-compatible": /^[A-Za-z0-9_.:-]{1,64}$/,
}

/** What ids become that do not fit. One that looks like it already is given another, so that no two become the same. */
const madeID = /^stemma_[0-9a-f]{32}$/

/** The id under which an API is told of a call and of its result. Different ids stay different. */
export function fitCallID(id: string, api: Api): string {
  return fitID[api].test(id) && !madeID.test(id) ? id : `stemma_${hashOf(id, 32)}`
}

/** Google wants no digit in front. */
const fitName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** The name under which any API is told of a tool, also of one that there never was. Different names stay different. */
export function fitToolName(name: string): string {
  if (fitName.test(name)) return name
  const readable = name.slice(0, 40).replace(/[^A-Za-z0-9_-]+/g, "_")
  return `_${readable}_${hashOf(name, 16)}`
}

/** The tools' own names by those under which the API knows them; undefined if these are the same. */
export function ownToolNames(tools: readonly { name: string }[]): Map<string, string> | undefined {
  const changed = tools.filter(({ name }) => !fitName.test(name))
  return changed.length > 0 ? new Map(changed.map(({ name }) => [fitToolName(name), name])) : undefined
}

function hashOf(text: string, digits: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits)
}
