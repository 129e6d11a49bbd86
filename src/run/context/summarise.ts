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
  /** The summary of the last compaction. */
  earlierSummary: string | undefined
  /** The messages since then, to be summarised. */
  items: readonly HistoryItem[]
  /** A person's instructions for the summary. */
  instructions: string | undefined
  /** A longer summary is cut. */
  tokensMax: number
  /** The tokens and cost of every call are added here, also if the summary fails. */
  usage: Usage
}

/** Tokens per piece for a model whose context window is unknown. */
const defaultPieceTokens = 24_000
const pieceTokensMax = 120_000
/** More pieces would take too long. The ledger still covers the messages that are left out. */
const piecesMax = 8
const triesMax = 3
/** Limits the calls for one summary: a model that often fails or refuses pieces as too long would need very many. */
const callsMax = 40

export interface Usage {
  tokens: Tokens
  cost: number
}

/**
 * Has the compaction agent write a summary. A history that is too long for one call is summarised piece by piece; each
 * call gets the summary so far and the next piece.
 */
export async function summarise(run: Run, request: SummaryRequest): Promise<string> {
  const pieces = piecesOf(request, await pieceTokens(run, request))
  const calls = { left: callsMax }
  let text = request.earlierSummary
  for (const piece of pieces) text = await summarisePiece(run, { request, before: text, piece, calls })
  return text ?? ""
}

async function pieceTokens(run: Run, { agent, model, tokensMax }: SummaryRequest): Promise<number> {
  const { config } = (await run.setup()).loaded
  const { usable } = windowOf({ model, agent: undefined, config })
  if (!Number.isFinite(usable)) return defaultPieceTokens
  // The call also holds the summary so far, the agent's prompt and the new summary.
  const reserved = 2 * tokensMax + estimateTokens(agent.prompt ?? "") + 1000
  return Math.max(1000, Math.min(pieceTokensMax, Math.floor((usable - reserved) * 0.9)))
}

const recapLimits = [
  { textMax: 8000, outputMax: 2000 },
  { textMax: 2000, outputMax: 300 },
]

function piecesOf({ items }: SummaryRequest, tokensMax: number): string[] {
  let pieces: string[] = []
  for (const cut of recapLimits) {
    pieces = inPieces(recap(items, cut), tokensMax)
    if (pieces.length <= piecesMax) return pieces
  }
  // The first and the newest pieces matter most. The ledger covers the others, as far as its budget allows.
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
  /** The summary so far. */
  before: string | undefined
  piece: string
  /** How many more calls are allowed; shared by all pieces. */
  calls: { left: number }
}

async function summarisePiece(run: Run, options: PieceOptions): Promise<string> {
  const { piece } = options
  for (let attempt = 1; ; attempt++) {
    if (options.calls.left-- === 0) {
      throw new Error(`The summary was not finished after ${callsMax} calls of the model.`)
    }
    try {
      return await askOnce(run, options)
    } catch (error) {
      if (!(error instanceof ModelError) || run.signal.aborted) throw error
      if (error.kind === "context" && piece.length > 2000) {
        // The model's window is smaller than assumed.
        const middle = Math.floor(piece.length / 2)
        const first = await summarisePiece(run, { ...options, piece: piece.slice(0, middle) })
        return summarisePiece(run, { ...options, before: first, piece: piece.slice(middle) })
      }
      const { timing } = run.engine
      const delayMs = retryDelayMs(error, attempt, { timing, random: Math.random })
      // A stalled model has already used up a long idle timeout.
      if (delayMs === undefined || attempt >= triesMax || error.kind === "stalled") throw error
      run.engine.metrics.retried(error.kind)
      const next = Math.ceil(run.engine.clock.now() + delayMs)
      run.engine.hub.setStatus(run.sessionID, { type: "retry", attempt, message: error.message, next })
      await waitMs(delayMs, run.signal)
      run.engine.hub.setStatus(run.sessionID, { type: "busy" })
    }
  }
}

async function askOnce(run: Run, { request, before, piece }: PieceOptions): Promise<string> {
  const { agent, model, instructions, tokensMax } = request
  const setup = await run.setup()
  const questionText = question({ before, piece, instructions })
  const modelRequest: ModelRequest = {
    purpose: "compaction",
    system: agent.prompt === undefined ? [] : [agent.prompt],
    messages: [{ role: "user", content: [{ type: "text", text: questionText }] }],
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
  const answer = await readSummary(run, { request, modelRequest, questionText, call })
  // Masked twice: invisible characters inside a secret may keep the first pass from finding it.
  const text = plainHeadings(setup.mask(visibleText(cleanText(setup.mask(answer))))).trim()
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

async function readSummary(
  run: Run,
  options: {
    request: SummaryRequest
    modelRequest: ModelRequest
    questionText: string
    call: ModelCallTelemetry
  },
): Promise<string> {
  const { request, modelRequest, questionText, call } = options
  const { agent, model, tokensMax, usage: total } = request
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
      input: estimateTokens(agent.prompt ?? "") + estimateTokens(questionText),
      output: estimateTokens(text),
    })
    const tokens = usage ?? estimated()
    const cost = model.price ? costOf(tokens, model.price) : 0
    total.tokens = addTokens(total.tokens, tokens)
    total.cost = addCost(total.cost, cost)
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
      : "The summary covers what came before the conversation. Write one summary of both: keep everything from the old summary that still holds.",
    ...(instructions === undefined ? [] : [`Follow these instructions of the user: ${instructions}`]),
  ].join("\n\n")
}

/** Changes lines that look like the headings of the ledger or of a summary, so that a model cannot forge them. */
function plainHeadings(text: string): string {
  return text.replace(/^(\s*)\[(?=\s*(?:ledger|summary of the conversation)\b)/gim, "$1(")
}

/** Changes tags in the text, so that a quoted file or page cannot end the `<conversation>` block. */
function withoutTags(text: string): string {
  return visibleText(text).replace(/<(?=\s*\/?\s*(?:summary|conversation))/gi, "(")
}
