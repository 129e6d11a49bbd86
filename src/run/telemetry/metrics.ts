import type { ModelErrorKind } from "../../models/model-error.ts"
import { type ModelRef, noTokens, type Tokens } from "../../protocol/index.ts"

/** How a run ended. `interrupted`: its process closed, or another process took the session over. */
export type RunOutcome = "stop" | "error" | "aborted" | "interrupted"

export type SessionOrigin = "new" | "fork" | "child"

/** A cumulative histogram: each bucket includes the smaller ones. `count` is the bucket without a bound. */
export interface HistogramSnapshot {
  buckets: { atMostSeconds: number; count: number }[]
  count: number
  sumSeconds: number
}

/** Counters of this process since Stemma was opened: plain data, a copy. */
export interface MetricsSnapshot {
  runs: {
    started: number
    ended: Record<RunOutcome, number>
    active: number
    /** Runs that have not started: `place` wait for a free slot, `lease` for a lease that another process holds. */
    waiting: { place: number; lease: number }
  }
  /** Steps by `finish`. */
  steps: Record<string, number>
  stepDuration: HistogramSnapshot
  /** Retried model calls, by the kind of the error. */
  retries: Partial<Record<ModelErrorKind, number>>
  models: (ModelRef & { tokens: Tokens; cost: number; firstToken: HistogramSnapshot })[]
  tools: { tool: string; completed: number; error: number; duration: HistogramSnapshot }[]
  /** Commits of runs; other writes are not counted. */
  commits: { failed: number; duration: HistogramSnapshot }
  sessionsCreated: Record<SessionOrigin, number>
  /** Permission questions of this process that wait for an answer. */
  questionsOpen: number
}

/** Above these limits, further names are counted as `other`: a metrics backend keeps a time series for each name. */
const modelsMax = 200
const toolsMax = 100
const nameUnitsMax = 200
export const otherName = "other"

const commitBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
const waitBounds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** The known values of `finish`. A model may send any other value, which counts as `other`. */
const stepOutcomes = new Set([
  "stop",
  "tool-calls",
  "length",
  "content-filter",
  "limit",
  "rejected",
  "budget",
  "error",
  "aborted",
  "interrupted",
  "compacted",
])

class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #count = 0
  #sumSeconds = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  addMs(ms: number): void {
    const seconds = ms / 1000
    this.#count++
    this.#sumSeconds += seconds
    const bounds = this.#bounds
    for (let index = 0; index < bounds.length; index++) {
      if (seconds > bounds[index]!) continue
      this.#counts[index]!++
      return
    }
  }

  snapshot(): HistogramSnapshot {
    let below = 0
    const buckets = this.#bounds.map((atMostSeconds, index) => {
      below += this.#counts[index]!
      return { atMostSeconds, count: below }
    })
    return { buckets, count: this.#count, sumSeconds: this.#sumSeconds }
  }
}

interface ModelUse extends ModelRef {
  tokens: Tokens
  cost: number
  firstToken: Histogram
}

interface ToolUse {
  completed: number
  error: number
  duration: Histogram
}

/** The counters of this process. No method waits or throws. No method is called per delta. */
export class Metrics {
  #started = 0
  readonly #ended: Record<RunOutcome, number> = { stop: 0, error: 0, aborted: 0, interrupted: 0 }
  #active = 0
  readonly #steps = new Map<string, number>()
  readonly #stepDuration = new Histogram(waitBounds)
  readonly #retries = new Map<ModelErrorKind, number>()
  readonly #models = new Map<string, ModelUse>()
  readonly #tools = new Map<string, ToolUse>()
  readonly #commits = new Histogram(commitBounds)
  #commitsFailed = 0
  readonly #sessions: Record<SessionOrigin, number> = { new: 0, fork: 0, child: 0 }
  #questions = 0

  runStarted(): void {
    this.#started++
    this.#active++
  }

  runEnded(outcome: RunOutcome): void {
    this.#active--
    this.#ended[outcome]++
  }

  stepEnded(finish: string, durationMs: number): void {
    const outcome = stepOutcomes.has(finish) ? finish : otherName
    this.#steps.set(outcome, (this.#steps.get(outcome) ?? 0) + 1)
    this.#stepDuration.addMs(durationMs)
  }

  retried(kind: ModelErrorKind): void {
    this.#retries.set(kind, (this.#retries.get(kind) ?? 0) + 1)
  }

  firstToken(ref: ModelRef, ms: number): void {
    this.#model(ref).firstToken.addMs(ms)
  }

  spent(ref: ModelRef, { tokens, cost }: { tokens: Tokens; cost: number }): void {
    const use = this.#model(ref)
    use.tokens.input += tokens.input
    use.tokens.output += tokens.output
    use.tokens.reasoning += tokens.reasoning
    use.tokens.cache.read += tokens.cache.read
    use.tokens.cache.write += tokens.cache.write
    use.cost += cost
  }

  /** Counts a settled tool call. The caller must replace names that a model made up. */
  callEnded(tool: string, outcome: "completed" | "error"): void {
    this.#tool(tool)[outcome]++
  }

  /** Adds the time that a tool's `execute` took, without waits for permission before it. */
  toolRan(tool: string, durationMs: number): void {
    this.#tool(tool).duration.addMs(durationMs)
  }

  committed(durationMs: number): void {
    this.#commits.addMs(durationMs)
  }

  commitFailed(): void {
    this.#commitsFailed++
  }

  sessionCreated(origin: SessionOrigin): void {
    this.#sessions[origin]++
  }

  questionOpened(): void {
    this.#questions++
  }

  questionClosed(): void {
    this.#questions--
  }

  snapshot(waiting: MetricsSnapshot["runs"]["waiting"]): MetricsSnapshot {
    return {
      runs: { started: this.#started, ended: { ...this.#ended }, active: this.#active, waiting },
      steps: Object.fromEntries(this.#steps),
      stepDuration: this.#stepDuration.snapshot(),
      retries: Object.fromEntries(this.#retries),
      models: [...this.#models.values()].map((use) => ({
        ...use,
        tokens: structuredClone(use.tokens),
        firstToken: use.firstToken.snapshot(),
      })),
      tools: [...this.#tools].map(([tool, use]) => ({ ...use, tool, duration: use.duration.snapshot() })),
      commits: { failed: this.#commitsFailed, duration: this.#commits.snapshot() },
      sessionsCreated: { ...this.#sessions },
      questionsOpen: this.#questions,
    }
  }

  #model({ providerID, modelID }: ModelRef): ModelUse {
    const key = `${providerID}/${modelID}`
    const known = this.#models.get(key)
    if (known) return known
    const isOther = key !== otherModel && (this.#models.size >= modelsMax || key.length > nameUnitsMax)
    if (isOther) return this.#model({ providerID: otherName, modelID: otherName })
    const use = { providerID, modelID, tokens: noTokens(), cost: 0, firstToken: new Histogram(waitBounds) }
    this.#models.set(key, use)
    return use
  }

  #tool(name: string): ToolUse {
    const known = this.#tools.get(name)
    if (known) return known
    if (name !== otherName && this.#tools.size >= toolsMax) return this.#tool(otherName)
    const use = { completed: 0, error: 0, duration: new Histogram(waitBounds) }
    this.#tools.set(name, use)
    return use
  }
}

const otherModel = `${otherName}/${otherName}`
