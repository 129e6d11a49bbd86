import { grantScope } from "../../config/permission/grants.ts"
import type { HistoryItem, Session, UserBody } from "../../protocol/index.ts"
import {
  type ContextBase,
  context,
  contextBase,
  estimateContextTokens,
  estimateMessageTokens,
  estimatePartTokens,
  estimateTokens,
  isSummary,
  splitTokens,
  trimStart,
  visibleItems,
} from "../../session/index.ts"
import type { Store } from "../../stores/store.ts"
import { windowOf } from "../context/context-window.ts"
import { firstPosition } from "../context/history-memo.ts"
import {
  type CountedCall,
  correctionOf,
  estimateSystemTokens,
  estimateToolTokens,
} from "../context/next-call-tokens.ts"
import type { Engine } from "../engine.ts"
import { loadPermissionCheck } from "../permission/permission-check.ts"
import { modelFor } from "../prompt/prompt.ts"
import { findMessage } from "../schedule/waiters.ts"
import { findAgent } from "../step/step-plan.ts"
import { systemPrompt } from "../step/system-prompt.ts"
import { offeredTools } from "../step/tools/toolbox.ts"

/** What the next model call would send: estimated tokens by source, the size of the window, and what is hidden. */
export interface ContextReport {
  agent: string
  /** `provider/model`. */
  model: string
  tokens: {
    system: number
    tools: number
    summary: number
    ledger: number
    /** Texts, reasoning and tool calls, without tool output. */
    messages: number
    toolOutput: number
    total: number
  }
  /** How many messages the model is shown. */
  messages: number
  /** Absent if the size of the model's window is unknown. */
  window?: {
    context: number
    /** The window without the room that is reserved for the answer. */
    usable: number
    /** Above this size the context is pruned or compacted. */
    limit: number
    /** The used share of the window; 1 is full. */
    fullness: number
  }
  hidden: Hidden[]
}

export interface Hidden {
  /**
   * `compaction`: summarised messages. `prune`: old tool output. `trim`: messages beyond `maxHistory`. `revert`: messages
   * behind a revert mark. `ignored`: text that is shown to people only.
   */
  reason: "compaction" | "prune" | "trim" | "revert" | "ignored"
  /** The number of hidden messages, or of hidden parts in messages that are shown. */
  messages?: number
  parts?: number
  /** An estimate. */
  tokens: number
}

export async function contextReport(engine: Engine, session: Session): Promise<ContextReport> {
  const project = await engine.projects.get(session.directory)
  const setup = await project.setup()
  const { config, project: place } = setup.loaded
  const agent = findAgent(setup, session.agent)
  const ref = await modelFor(setup, { session, agentModel: agent.model })
  const name = `${ref.providerID}/${ref.modelID}`
  const model = await setup.models.get(name)
  const grants = await project.grants.list(grantScope(place))
  const { store, projects } = engine
  const permissionCheck = await loadPermissionCheck({
    store,
    projects,
    setup,
    session,
    agent,
    tools: undefined,
    grants,
  })
  const { offered } = await offeredTools({ setup, agent, permissionCheck })
  const nowMs = engine.clock.now()
  const user: UserBody = { id: "", role: "user", time: { created: nowMs }, agent: agent.name, model: ref }
  const system = systemPrompt({ agent, setup, workspace: project.workspace, user, nowMs, isLastStep: false })
  const maxHistory = session.maxHistory ?? config.maxHistory
  const shown = await shownOf(store, session, { maxHistory, keepsFirst: config.keepFirstMessage })
  const estimated = {
    system: estimateSystemTokens(system),
    tools: estimateToolTokens(offered),
    ...shown.tokens,
  }
  const { counted } = shown
  const correction = correctionOf(
    counted && { real: counted.real, estimate: counted.estimate + estimated.system + estimated.tools },
  )
  const tokens = mapValues(estimated, (count) => Math.round(count * correction))
  const total = Object.values(tokens).reduce((sum, count) => sum + count, 0)
  const { context: size, usable, limit } = windowOf({ model, agent, config })
  return {
    agent: agent.name,
    model: name,
    tokens: { ...tokens, total },
    messages: shown.messages,
    ...(size > 0 && { window: { context: size, usable, limit, fullness: total / usable } }),
    hidden: shown.hidden,
  }
}

function mapValues<K extends string>(
  record: Record<K, number>,
  change: (value: number) => number,
): Record<K, number> {
  return Object.fromEntries(
    Object.entries<number>(record).map(([key, value]) => [key, change(value)]),
  ) as Record<K, number>
}

interface Shown {
  /** The last call whose tokens the provider counted: the provider's count and our estimate of the same messages. */
  counted?: CountedCall
  tokens: Pick<ContextReport["tokens"], "summary" | "ledger" | "messages" | "toolOutput">
  messages: number
  hidden: Hidden[]
}

async function shownOf(
  store: Store,
  session: Session,
  { maxHistory, keepsFirst }: { maxHistory: number | undefined; keepsFirst: boolean },
): Promise<Shown> {
  const { revert } = session
  const marked = revert && (await findMessage(store, session.id, revert.messageID))
  // With a mark at a part, the parts of the marked message before it are shown.
  const end = marked ? marked.position + (revert.partID === undefined ? 0 : 1) : session.history.count
  const start = await firstPosition(store, session, end)
  const all = await itemsBetween(store, session.id, { start, end: session.history.count })
  const items = visibleItems(all, revert).filter(({ sealed }) => sealed)
  const base = contextBase(items)
  const from = trimStart(items, { maxHistory, from: base.start })
  const first = keepsFirst ? await firstPrompt(store, session.id) : undefined
  const messages = context(items, {
    ...(maxHistory !== undefined && { maxHistory }),
    ...(first && { first }),
  })
  const { compaction } = base
  const summary = compaction ? estimateTokens(compaction.summary ?? "") : 0
  const ledger = compaction ? estimateTokens(compaction.ledger ?? "") : 0
  const split = { messages: 0, toolOutput: 0 }
  for (const message of messages.slice(compaction ? 1 : 0)) {
    const one = splitTokens(message)
    split.messages += one.messages
    split.toolOutput += one.toolOutput
  }
  const counted = lastCount(items, { base, maxHistory, first })
  const reverted = all.length - items.length
  const hidden: Hidden[] = [
    ...compactedHidden(base, items, start),
    ...trimHidden(items.slice(base.start, from)),
    ...prunedHidden(base, items.slice(from)),
    ...ignoredHidden(items.slice(from)),
    ...(reverted > 0
      ? [{ reason: "revert" as const, messages: reverted, tokens: sumTokens(all.slice(items.length)) }]
      : []),
  ]
  const tokens = { summary, ledger, ...split }
  return { tokens, messages: messages.length, hidden, ...(counted && { counted }) }
}

function lastCount(
  items: readonly HistoryItem[],
  {
    base,
    maxHistory,
    first,
  }: { base: ContextBase; maxHistory: number | undefined; first: HistoryItem | undefined },
): CountedCall | undefined {
  for (let index = items.length - 1; index >= base.start; index--) {
    const { message, parts } = items[index]!
    if (parts.some(isSummary)) return undefined
    if (message.role !== "assistant" || message.summary || message.error) continue
    const { input, cache } = message.tokens
    const real = input + cache.read + cache.write
    if (real === 0) continue
    const asked = context(items.slice(0, index), {
      ...(maxHistory !== undefined && { maxHistory }),
      ...(first && { first }),
    })
    return { real, estimate: asked.reduce((sum, one) => sum + estimateContextTokens(one), 0) }
  }
  return undefined
}

async function itemsBetween(
  store: Store,
  sessionID: string,
  { start, end }: { start: number; end: number },
): Promise<HistoryItem[]> {
  const items: HistoryItem[] = []
  for (let from = start; from < end; ) {
    const page = await store.history(sessionID, { from, to: end, take: "start", limit: 1000 })
    if (page.items.length === 0) break
    items.push(...page.items)
    from = page.items.at(-1)!.position + 1
  }
  return items
}

async function firstPrompt(store: Store, sessionID: string): Promise<HistoryItem | undefined> {
  const page = await store.history(sessionID, { from: 0, take: "start", limit: 10 })
  return page.items.find((item) => item.sealed && item.message.role === "user")
}

function compactedHidden(base: ContextBase, items: readonly HistoryItem[], start: number): Hidden[] {
  if (!base.compaction) return []
  const messages = items[base.start]?.position ?? start
  return [{ reason: "compaction", messages, tokens: base.compaction.tokensHidden ?? 0 }]
}

function trimHidden(trimmed: readonly HistoryItem[]): Hidden[] {
  const cut = trimmed.filter(({ message }) => message.role === "user" || !message.summary)
  return cut.length > 0 ? [{ reason: "trim", messages: cut.length, tokens: sumTokens(cut) }] : []
}

function prunedHidden(base: ContextBase, items: readonly HistoryItem[]): Hidden[] {
  const parts = items.flatMap((item) => item.parts).filter((part) => base.pruned.has(part.id))
  if (parts.length === 0) return []
  return [{ reason: "prune", parts: parts.length, tokens: sumParts(parts) }]
}

function ignoredHidden(items: readonly HistoryItem[]): Hidden[] {
  const parts = items
    .flatMap((item) => item.parts)
    .filter((part) => part.type === "text" && part.ignored === true)
  if (parts.length === 0) return []
  const tokens = parts.reduce((sum, part) => sum + (part.type === "text" ? estimateTokens(part.text) : 0), 0)
  return [{ reason: "ignored", parts: parts.length, tokens }]
}

function sumTokens(items: readonly HistoryItem[]): number {
  return items.reduce((sum, item) => sum + estimateMessageTokens(item), 0)
}

function sumParts(parts: readonly HistoryItem["parts"][number][]): number {
  return parts.reduce((sum, part) => sum + estimatePartTokens(part), 0)
}
