import type { Model, ModelRequest } from "../../../models/model.ts"
import { ModelError } from "../../../models/model-error.ts"
import { Tokens } from "../../../protocol/index.ts"
import { withGrace } from "../tools/abort-grace.ts"

/**
 * Models enforce the idle timeout themselves. This is the fallback for a model that does not: `stalled` rejects after
 * two to four times the timeout without a call of `restart`.
 */
export function idleTimeout(
  model: Model,
  idleTimeoutMs: number,
): { restart: () => void; stalled: Promise<never>; stop: () => void } {
  const { providerID, modelID } = model.ref
  const stalled = Promise.withResolvers<never>()
  stalled.promise.catch(() => {})
  let hasEvents = true
  const timer = setInterval(() => {
    if (hasEvents) hasEvents = false
    else
      stalled.reject(
        new ModelError("stalled", `${providerID}/${modelID} sent nothing for ${idleTimeoutMs} ms.`),
      )
  }, idleTimeoutMs * 2)
  return {
    restart: () => {
      hasEvents = true
    },
    stalled: stalled.promise,
    stop: () => clearInterval(timer),
  }
}

/** Reads the text of an answer that is not written into a message, such as a summary. */
export async function answerText(options: {
  model: Model
  request: ModelRequest
  graceMs: number
  /** Stops reading once the text has more characters than this. */
  unitsMax: number
  /** Called with the first event. */
  onBegun?: () => void
}): Promise<{ text: string; usage?: Tokens }> {
  const { model, request } = options
  const ended = new AbortController()
  const signal = AbortSignal.any([request.signal, ended.signal])
  const idle = idleTimeout(model, request.idleTimeoutMs)
  let text = ""
  let hasBegun = false
  let usage: Tokens | undefined
  const read = async () => {
    for await (const event of model.stream({ ...request, signal })) {
      idle.restart()
      if (!hasBegun) options.onBegun?.()
      hasBegun = true
      if (event.type === "text-delta") text += event.text
      if (event.type === "finish" && Tokens.safeParse(event.usage).success) usage = event.usage
      if (text.length > options.unitsMax) return
    }
  }
  try {
    await Promise.race([withGrace(read(), request.signal, options.graceMs), idle.stalled])
  } finally {
    idle.stop()
    ended.abort()
  }
  return { text, ...(usage && { usage }) }
}
