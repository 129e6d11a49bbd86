import type { Agent } from "../../config/agents/agent.ts"
import type { Model, ModelRequest } from "../../models/model.ts"
import { ModelError } from "../../models/model-error.ts"
import { type HistoryItem, noTokens, type Tokens } from "../../protocol/index.ts"
import {
  addCost,
  addTokens,
  cleanText,
  costOf,
  cutToTokens,
  estimateTokens,
  recap,
  visibleText,
} from "../../session/index.ts"
import type { Run } from "../loop/run.ts"
import { answerText } from "../step/model/idle-timeout.ts"
import { retryDelayMs, waitMs } from "../step/model/retry.ts"
import type { ModelCallTelemetry } from "../telemetry/call-telemetry.ts"
import { windowOf } from "./context-window.ts"

export interface SummaryRequest {
  agent: Agent
  model: Model
  /** The summary that stood in the context so far. */
  before: string | undefined
  /** What is to be summarised beside it. */
  items: readonly HistoryItem[]
  /** What a person wants minded. */
  instructions: string | undefined
  /** A longer summary is cut. */
  tokensMax: number
  spent: Spent
}

/** Where nobody knows how much a model takes, so much is given to it at once. */
const unknownPieceTokens = 24_000
const pieceTokensMax = 120_000
/** More calls than this would take longer than anybody waits; what does not fit is left to the ledger. */
const piecesMax = 8
const triesMax = 3
/** A model that takes much less than it should, or fails now and then, is asked no more often than this. */
const callsMax = 40

export interface Spent {
  tokens: Tokens
  cost: number
}

/**
 * Has the compaction agent write a summary; what is too long for one call is given in pieces, each with the summary of what
 * came before it. What it costs is added to `spent`, whatever comes of it.
 */
export async function summarise(run: Run, request: SummaryRequest): Promise<string> {
  const { spent } = request
  const pieces = piecesOf(request, await pieceTokens(run, request))
  const calls = { left: callsMax }
  let text = request.before
  for (const piece of pieces) text = await summariseText(run, { request, before: text, piece, spent, calls })
  return text ?? ""
}

async function pieceTokens(run: Run, { agent, model, tokensMax }: SummaryRequest): Promise<number> {
  const { config } = (await run.setup()).loaded
  const { usable } = windowOf({ model, agent: undefined, config })
  if (!Number.isFinite(usable)) return unknownPieceTokens
  // Beside it go the summary so far and what the agent is told.
  const beside = 2 * tokensMax + estimateTokens(agent.prompt ?? "") + 1000
  return Math.max(1000, Math.min(pieceTokensMax, Math.floor((usable - beside) * 0.9)))
}

const cuts = [
  { textMax: 8000, outputMax: 2000 },
  { textMax: 2000, outputMax: 300 },
]

function piecesOf({ items }: SummaryRequest, tokensMax: number): string[] {
  let pieces: string[] = []
  for (const cut of cuts) {
    pieces = inPieces(recap(items, cut), tokensMax)
    if (pieces.length <= piecesMax) return pieces
  }
  // The newest matter most; the oldest are in the ledger, as far as there is room.
  return [pieces[0]!, ...pieces.slice(-(piecesMax - 1))]
}

function inPieces(messages: readonly string[], tokensMax: number): string[] {
  const pieces: string[] = []
  let piece: string[] = []
  let size = 0
  const end = () => {
    if (piece.length > 0) pieces.push(piece.join("\n"))
    piece = []
    size = 0
  }
  for (const message of messages) {
    const text = cutToTokens(message, tokensMax)
    const tokens = estimateTokens(text)
    if (size + tokens > tokensMax) end()
    piece.push(text)
    size += tokens
  }
  end()
  return pieces
}

interface PieceOptions {
  request: SummaryRequest
  before: string | undefined
  piece: string
  spent: Spent
  /** Shared by all pieces. */
  calls: { left: number }
}

async function summariseText(run: Run, options: PieceOptions): Promise<string> {
  const { piece } = options
  for (let attempt = 1; ; attempt++) {
    if (options.calls.left-- === 0) throw new Error(`It was not done after ${callsMax} calls of the model.`)
    try {
      return await ask(run, options)
    } catch (error) {
      if (!(error instanceof ModelError) || run.signal.aborted) throw error
      if (error.kind === "context" && piece.length > 2000) {
        // It was less than we thought that the model takes.
        const middle = Math.floor(piece.length / 2)
        const first = await summariseText(run, { ...options, piece: piece.slice(0, middle) })
        return summariseText(run, { ...options, before: first, piece: piece.slice(middle) })
      }
      const { timing } = run.engine
      const delayMs = retryDelayMs(error, attempt, { timing, random: Math.random })
      // One that has fallen silent has been waited for long enough.
      if (delayMs === undefined || attempt >= triesMax || error.kind === "stalled") throw error
      run.engine.metrics.retried(error.kind)
      const next = Math.ceil(run.engine.clock.now() + delayMs)
      run.engine.hub.setStatus(run.sessionID, { type: "retry", attempt, message: error.message, next })
      await waitMs(delayMs, run.signal)
      run.engine.hub.setStatus(run.sessionID, { type: "busy" })
    }
  }
}

async function ask(run: Run, { request, before, piece, spent }: PieceOptions): Promise<string> {
  const { agent, model, instructions, tokensMax } = request
  const setup = await run.setup()
  const asked = question({ before, piece, instructions })
  const modelRequest: ModelRequest = {
    purpose: "compaction",
    system: agent.prompt === undefined ? [] : [agent.prompt],
    messages: [{ role: "user", content: [{ type: "text", text: asked }] }],
    tools: [],
    maxOutputTokens: model.limit.output > 0 ? Math.min(tokensMax, model.limit.output) : tokensMax,
    ...(agent.temperature !== undefined && { temperature: agent.temperature }),
    ...(agent.topP !== undefined && { topP: agent.topP }),
    ...(agent.options && { options: agent.options }),
    readFile: async () => new Uint8Array(),
    signal: run.signal,
    idleTimeoutMs: setup.loaded.config.idleTimeoutMs,
  }
  const call = run.telemetry.modelCall({ agent: agent.name, model, request: modelRequest, mask: setup.mask })
  const heard = await hear(run, { request, modelRequest, asked, spent, call })
  // Before and after: what is invisible may have kept a secret from being known for one.
  const text = plainHeadings(setup.mask(visibleText(cleanText(setup.mask(heard))))).trim()
  if (text === "") {
    const { providerID, modelID } = model.ref
    throw new ModelError("malformed", `The summary of ${providerID}/${modelID} was empty.`, {
      isRetryable: true,
    })
  }
  return estimateTokens(text) > tokensMax
    ? `${cutToTokens(text, tokensMax)}\n[The summary was cut here.]`
    : text
}

/** What the model says. */
async function hear(
  run: Run,
  options: {
    request: SummaryRequest
    modelRequest: ModelRequest
    asked: string
    spent: Spent
    call: ModelCallTelemetry
  },
): Promise<string> {
  const { request, modelRequest, asked, spent, call } = options
  const { agent, model, tokensMax } = request
  const { toolGraceMs: graceMs } = run.engine.timing
  try {
    const { text, usage } = await call.within(() =>
      answerText({
        model,
        request: modelRequest,
        graceMs,
        unitsMax: tokensMax * 32,
        onBegun: () => call.began(),
      }),
    )
    const estimated = () => ({
      ...noTokens(),
      input: estimateTokens(agent.prompt ?? "") + estimateTokens(asked),
      output: estimateTokens(text),
    })
    const tokens = usage ?? estimated()
    const cost = model.price ? costOf(tokens, model.price) : 0
    spent.tokens = addTokens(spent.tokens, tokens)
    spent.cost = addCost(spent.cost, cost)
    call.done({ tokens, cost, finish: "stop" })
    return text
  } catch (error) {
    call.fail(run.signal.aborted ? run.signal.reason : error)
    throw error
  } finally {
    call.end()
  }
}

function question(options: {
  before: string | undefined
  piece: string
  instructions: string | undefined
}): string {
  const { before, piece, instructions } = options
  return [
    ...(before === undefined ? [] : [`<summary>\n${withoutTags(before)}\n</summary>`]),
    `<conversation>\n${withoutTags(piece)}\n</conversation>`,
    before === undefined
      ? "Summarise the conversation."
      : "The summary is of what came before the conversation. Write one summary of both: keep from the old one whatever still holds.",
    ...(instructions === undefined ? [] : [`The user asks to mind this: ${instructions}`]),
  ].join("\n\n")
}

/** A summary must not pass for the ledger that follows it, nor for another one. */
function plainHeadings(text: string): string {
  return text.replace(/^(\s*)\[(?=\s*(?:ledger|summary of the conversation)\b)/gim, "$1(")
}

/** What a file or a page says must not look like the end of what is to be summarised. */
function withoutTags(text: string): string {
  return visibleText(text).replace(/<(?=\s*\/?\s*(?:summary|conversation))/gi, "(")
}
