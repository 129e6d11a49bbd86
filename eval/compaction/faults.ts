import { mkdir } from "node:fs/promises"
import { scratchDirectory } from "../../bench/bench.ts"
import { createScriptedModel, openStemma, type ScriptedAnswer } from "../../src/index.ts"

const wordCount = 400
const words = Array.from({ length: wordCount }, (_, at) => `word${at}`).join(" ")

/** The failures of a summariser. */
const faults: Record<string, Omit<ScriptedAnswer, "for">> = {
  throws: { error: { kind: "server", message: "It broke." } },
  refuses: { error: { kind: "refused", message: "It will not." } },
  "says nothing": { text: "" },
  "says more than it got": { text: `${words} `.repeat(60) },
  stalls: { delayMs: Number.POSITIVE_INFINITY },
}

export interface FaultOutcome {
  fault: string
  /** True if this prompt and the next one were answered with a context that fits and contains the ledger. */
  isUsable: boolean
  tokensBefore: number
  tokensAfter: number
}

/** Compacts sessions with summarisers that fail, one session for each failure. */
export async function evaluateFaults(): Promise<FaultOutcome[]> {
  return Promise.all(Object.entries(faults).map(([fault, answer]) => outcome(fault, answer)))
}

async function outcome(fault: string, answer: Omit<ScriptedAnswer, "for">): Promise<FaultOutcome> {
  await using scratch = await scratchDirectory()
  const directory = scratch.path("project")
  await mkdir(directory)
  const limit = { context: 16_000, output: 4_000 }
  const model = createScriptedModel(() => ({ text: "Answered." }), {
    ref: { providerID: "scripted", modelID: "m" },
    limit,
  })
  for (let call = 0; call < 40; call++) model.add({ ...answer, for: "compaction" })
  await using stemma = await openStemma({
    directory,
    data: scratch.path("data"),
    env: {},
    models: { scripted: () => model },
    config: { model: "scripted/m", title: false, idleTimeoutMs: 200 },
    timing: { retryBaseMs: 5, retryMaxMs: 10 },
    snapshots: false,
  })
  const session = await stemma.sessions.create()
  await session.append({ role: "user", text: "Only ever deploy to eu-west-3, from the release branch." })
  for (let turn = 0; turn < 20; turn++) {
    await session.append({ role: "assistant", text: `Looked at part ${turn}: ${words}` })
    await session.append({ role: "user", text: `Now part ${turn + 1}.` })
  }
  const replies = [await session.prompt("Where do we deploy?"), await session.prompt("And from where?")]
  const parts = (await session.messages()).flatMap((item) => item.parts)
  const part = parts.find(({ type }) => type === "compaction")
  const { tokensBefore = 0, tokensAfter = 0 } = part?.type === "compaction" ? part : {}
  const shown = JSON.stringify(model.requests.findLast(({ purpose }) => purpose === "step")!.messages)
  const isUsable =
    replies.every(({ text, error }) => text === "Answered." && !error) &&
    tokensAfter < limit.context - limit.output &&
    shown.includes("eu-west-3")
  return { fault, isUsable, tokensBefore, tokensAfter }
}

export function faultTable(outcomes: readonly FaultOutcome[]): string {
  const lines = outcomes.map(
    ({ fault, isUsable, tokensBefore, tokensAfter }) =>
      `  ${fault.padEnd(24)}${String(tokensBefore).padStart(8)}${String(tokensAfter).padStart(8)}   ${isUsable ? "usable" : "BROKEN"}`,
  )
  return ["a summariser that           before   after", ...lines].join("\n")
}
