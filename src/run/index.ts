/**
 * The one door to the engine: everything that an edge (server, command line, adapters for other protocols) may use of `run/`.
 * `test/boundaries.test.ts` refuses any other import. The engine is put together in `src/index.ts`.
 */
export type { AppendInput } from "./api/append-message.ts"
export type { PromptRun, Reply } from "./api/prompt-run.ts"
export type { SessionHandle } from "./api/session-handle.ts"
export type { Sessions } from "./api/sessions.ts"
export type { StoreReader } from "./api/store-reader.ts"
export { promptBefore } from "./context/compaction-message.ts"
export { prepareFirstTurn } from "./prepare.ts"
export type { Project, Setup } from "./project.ts"
export type { PromptOptions, PromptPart } from "./prompt/prompt.ts"
export { Slices } from "./schedule/slices.ts"
export { findMessage } from "./schedule/waiters.ts"
export type { Stemma } from "./stemma.ts"
export { offeredAgent } from "./step/step-plan.ts"
export { parseCallInput } from "./step/tools/call-input.ts"
export type { HistogramSnapshot, MetricsSnapshot } from "./telemetry/metrics.ts"
