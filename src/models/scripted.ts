import type { ModelRef, Price } from "../protocol/index.ts"
import { sideAnswer } from "./demo/side-answer.ts"
import type { Model, ModelEvent, ModelRequest } from "./model.ts"
import { ModelError } from "./model-error.ts"
import { type PlayedAnswer, playAnswer, waitFor } from "./play-answer.ts"

export interface ScriptedAnswer extends PlayedAnswer {
  /** The purpose of the call that takes this answer; a step if absent. */
  for?: "title" | "summary" | "compaction"
}

/**
 * Answers in order, or a function of the request and the number of steps before it. A function is called for steps
 * only.
 */
export type Script =
  | readonly ScriptedAnswer[]
  | ((request: ModelRequest, n: number) => ScriptedAnswer | Promise<ScriptedAnswer>)

export interface ScriptedOptions {
  ref?: ModelRef
  limit?: { context: number; output: number }
  price?: Price
  /** What a step gets when the list is empty. By default an error that must not be retried. */
  whenEmpty?: "error" | ScriptedAnswer
}

export interface ScriptedModel extends Model {
  /** Every request so far. */
  readonly requests: readonly ModelRequest[]
  /** Adds answers to the end of the list. */
  add(...answers: ScriptedAnswer[]): void
}

/**
 * A model that plays answers, faults and delays, for tests, examples and demonstrations. Only steps take unmarked
 * answers from the list. Titles, summaries and compactions take answers marked `for` them, or else an answer made of
 * the user's own words.
 */
export function createScriptedModel(script: Script, options: ScriptedOptions = {}): ScriptedModel {
  const { ref = { providerID: "scripted", modelID: "scripted" }, limit = { context: 0, output: 0 } } = options
  const { whenEmpty = "error", price } = options
  const list = typeof script === "function" ? [] : [...script]
  const requests: ModelRequest[] = []
  let steps = 0

  function take(request: ModelRequest): ScriptedAnswer | Promise<ScriptedAnswer> {
    const wanted = request.purpose === "step" ? undefined : request.purpose
    const step = wanted === undefined ? steps++ : -1
    const at = list.findIndex((answer) => answer.for === wanted)
    if (at >= 0) return list.splice(at, 1)[0]!
    if (wanted !== undefined) return { text: sideAnswer(request) }
    if (typeof script === "function") return script(request, step)
    if (whenEmpty !== "error") return whenEmpty
    throw new ModelError(
      "refused",
      `The script of ${ref.providerID}/${ref.modelID} has no answer for step ${step + 1}: ` +
        "add one to its list, or say what to do with `whenEmpty`.",
    )
  }

  return {
    ref,
    limit,
    ...(price && { price }),
    requests,
    add: (...answers) => void list.push(...answers),
    stream(request) {
      requests.push(request)
      // The answer is taken now, so that concurrent calls get answers in the order of the calls.
      const taken = new Promise<ScriptedAnswer>((resolve) => resolve(take(request)))
      taken.catch(() => {})
      return playTaken(taken, request)
    },
  }
}

async function* playTaken(taken: Promise<ScriptedAnswer>, request: ModelRequest): AsyncGenerator<ModelEvent> {
  yield* playAnswer(await waitFor(taken, request).catch(asModelError), request)
}

function asModelError(error: unknown): never {
  if (error instanceof ModelError) throw error
  const why = error instanceof Error ? error.message : String(error)
  throw new ModelError("refused", `The script failed: ${why}`, { cause: error })
}
