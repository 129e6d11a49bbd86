import type { Model, ModelRequest } from "../../../models/model.ts"
import { ModelError } from "../../../models/model-error.ts"
import { Tokens } from "../../../protocol/index.ts"
import { withGrace } from "../tools/abort-grace.ts"

/** Models watch over their own silence; this is for one that does not, so it is twice as patient. Rejects once the model has said nothing for twice as long as it should mind itself. */
export function idleTimeout(
  model: Model,
  idleTimeoutMs: number,
): { heard: () => void; stalled: Promise<never>; stop: () => void } {
  const { providerID, modelID } = model.ref
  const silent = Promise.withResolvers<never>()
  silent.promise.catch(() => {})
  let hasHeard = true
  const timer = setInterval(() => {
    if (hasHeard) hasHeard = false
    else
      silent.reject(
        new ModelError("stalled", `${providerID}/${modelID} said nothing for ${idleTimeoutMs} ms.`),
      )
  }, idleTimeoutMs * 2)
  return {
    heard: () => {
      hasHeard = true
    },
    stalled: silent.promise,
    stop: () => clearInterval(timer),
  }
}

/** The text of an answer that is not written into a message. A model that does not end is left. */
export async function answerText(options: {
  model: Model
  request: ModelRequest
  graceMs: number
  /** What it says beyond so many characters is not listened to. */
  unitsMax: number
  /** Called when it begins to answer. */
  onBegun?: () => void
}): Promise<{ text: string; usage?: Tokens }> {
  const { model, request } = options
  const leaving = new AbortController()
  const signal = AbortSignal.any([request.signal, leaving.signal])
  const idle = idleTimeout(model, request.idleTimeoutMs)
  let text = ""
  let hasBegun = false
  let usage: Tokens | undefined
  const listen = async () => {
    for await (const event of model.stream({ ...request, signal })) {
      idle.heard()
      if (!hasBegun) options.onBegun?.()
      hasBegun = true
      if (event.type === "text-delta") text += event.text
      if (event.type === "finish" && Tokens.safeParse(event.usage).success) usage = event.usage
      if (text.length > options.unitsMax) return
    }
  }
  try {
    await Promise.race([withGrace(listen(), request.signal, options.graceMs), idle.stalled])
  } finally {
    idle.stop()
    leaving.abort()
  }
  return { text, ...(usage && { usage }) }
}
