import { NewSession, noTokens } from "../../../protocol/index.ts"
import { defaultTitle, titleFromText } from "../../../session/prompt/title.ts"
import { cleanText } from "../../../session/text/clean-text.ts"
import type { SessionFields } from "../../plain/index.ts"
import { agentOf, foreignContext, headerTime } from "../format/header.ts"
import { isObject, type Line } from "../format/lines.ts"
import type { AdoptionPlan } from "./adoption-plan.ts"
import { isTime } from "./foreign-message.ts"

const noProject = "global"

/**
 * Derives the fields of a foreign session from its header, from the index of another program, and from its messages.
 */
export function foreignFields(
  lines: Line[],
  context: { id: string; folder: string; listed: Record<string, unknown> | undefined; plan: AdoptionPlan },
): SessionFields {
  const header = lines[0]?.value.type === "session" ? lines[0].value : {}
  const listed = context.listed ?? {}
  const own = isObject(header.stemma) && isObject(header.stemma.session) ? header.stemma.session : {}
  const { agent, directory } = foreignContext(header, context.folder)
  const { messages } = context.plan
  const firstMs = messages[0]?.message.time.created
  const createdMs = headerTime(header) ?? (isTime(listed.createdAt) ? listed.createdAt : (firstMs ?? 0))
  const created = Math.floor(createdMs)
  const lastAt = isTime(listed.lastAt) ? Math.floor(listed.lastAt) : created
  const base = {
    id: context.id,
    projectID: noProject,
    directory,
    agent: agent === "" ? agentOf(context.folder) : agent,
    title: foreignTitle(context.plan, listed, created),
    version: "",
    time: { created, updated: Math.max(created, lastAt) },
  }
  // The header of a file that this driver wrote is still valid if the state file was lost.
  const { key: _key, parentID: _parentID, caller: _caller, forkedFrom: _forkedFrom, ...stored } = own
  const whole = NewSession.safeParse({
    ...base,
    ...stored,
    id: context.id,
    title: base.title,
    time: base.time,
  })
  const info = whole.success ? whole.data : NewSession.parse(base)
  return { ...info, cost: 0, tokens: noTokens() }
}

function foreignTitle(plan: AdoptionPlan, listed: Record<string, unknown>, nowMs: number): string {
  if (plan.title !== undefined) return cleanText(plan.title)
  if (typeof listed.title === "string" && listed.title !== "") return cleanText(listed.title)
  for (const { message, parts } of plan.messages) {
    const text = parts.find((part) => part.type === "text")
    if (message.role !== "user" || text?.type !== "text") continue
    const title = titleFromText(text.text)
    if (title !== "") return title
  }
  return defaultTitle({ child: false, nowMs })
}
