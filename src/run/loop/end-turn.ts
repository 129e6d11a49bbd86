import type { HistoryItem, UserBody } from "../../protocol/index.ts"
import type { Run } from "./run.ts"
import { summaryOps } from "./summary.ts"
import { isExpectedTitleError, writeTitle } from "./title.ts"

/** Ends a turn: commits the summary of file changes, then starts the title in the background. */
export async function endTurn(run: Run): Promise<void> {
  run.isInTurn = false
  if (run.writer.signal.aborted) return
  try {
    const ops = await summaryOps(run)
    if (ops.length > 0) await run.writer.commit(ops)
  } catch (error) {
    if (run.writer.signal.aborted) throw error
    // The answer is already sealed. A summary that fails must not fail the turn.
    run.engine.warn(error)
  }
  await startTitle(run)
}

async function startTitle(run: Run): Promise<void> {
  const { config } = (await run.setup()).loaded
  const first = onlyPrompt(run.memo.items)
  if (!config.title || run.session.parentID !== undefined || !first || run.isClosing) return
  if (first.user.model.providerID === "demo") return
  const parent = run.telemetry.context
  run.engine.background((signal) =>
    writeTitle(run, { ...first, signal, parent }).catch((error: unknown) => {
      if (!isExpectedTitleError(error)) throw error
    }),
  )
}

/** The session's only prompt so far, if it was answered without an error. */
function onlyPrompt(items: readonly HistoryItem[]): { user: UserBody; text: string } | undefined {
  const first = items[0]
  if (first?.position !== 0 || first.message.role !== "user") return undefined
  if (items.some((item, index) => index > 0 && item.message.role === "user")) return undefined
  const last = items.at(-1)!.message
  if (last.role === "assistant" && last.error) return undefined
  const text = first.parts.find((part) => part.type === "text" && !part.synthetic)
  const { sessionID: _, ...user } = first.message
  return text?.type === "text" ? { user, text: text.text } : undefined
}
