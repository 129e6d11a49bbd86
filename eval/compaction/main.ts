import { writeFile } from "node:fs/promises"
import { parseArgs } from "node:util"
import { evaluate } from "./evaluate.ts"
import { evaluateFaults, type FaultOutcome, faultTable } from "./faults.ts"
import { type Recall, targets } from "./report.ts"
import type { GeneratedSession, PlantedFact } from "./session.ts"
import { table } from "./table.ts"

const help = `Plants facts in generated sessions, compacts each five times, and looks for them in the ledger alone.

  npm run eval:compaction -- [options]

  --seed N       the seed of the generated sessions, 1 by default
  --sessions N   how many sessions, of both halves and languages in turn; 12 by default, which use every phrasing
  --noise N      multiplies the small talk, questions and requests, for example 0.4; 1 by default
  --json FILE    also write the figures to a file
  --show         print each ledger of the open half and the facts that it lost
  --help         print this text
`

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    sessions: { type: "string", default: "12" },
    noise: { type: "string", default: "1" },
    json: { type: "string" },
    show: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
})
if (values.help) process.stdout.write(help)
else await run()

async function run(): Promise<void> {
  const [seed, sessions, noise] = [whole("seed"), whole("sessions"), positive("noise")]
  const recall = await evaluate({ seed, sessions, noise, ...(values.show && { onSession: show }) })
  const faults = await evaluateFaults()
  process.stdout.write(`${table(recall)}\n\n${faultTable(faults)}\n\nSeed ${seed}, ${sessions} sessions.\n`)
  if (values.json !== undefined)
    await writeFile(
      values.json,
      `${JSON.stringify([...figures(recall), ...faultFigures(faults)], null, 2)}\n`,
    )
  if (!recall.isReached || faults.some(({ isUsable }) => !isUsable)) process.exitCode = 1
}

function positive(name: "noise"): number {
  const value = Number(values[name])
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0.`)
  return value
}

function whole(name: "seed" | "sessions"): number {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name} must be a whole number of at least 1.`)
  return value
}

/** Prints the open half only: a developer of the ledger must not see the held-out half. */
function show({ name, half }: GeneratedSession, { text, lost }: { text: string; lost: PlantedFact[] }): void {
  if (half !== "open") return
  const lines = lost.map(({ phrasing, cycle, source, keep }) => {
    return `- ${phrasing} (cycle ${cycle}): ${source}\n    wanted: ${keep.map((words) => words.join(" or ")).join(" + ")}`
  })
  process.stdout.write(`${name}\n\n${text}\n\nLost ${lost.length}:\n${lines.join("\n")}\n\n`)
}

function faultFigures(faults: readonly FaultOutcome[]): object[] {
  return faults.map(({ fault, isUsable, tokensBefore, tokensAfter }) => ({
    name: `a summariser that ${fault}`,
    value: tokensAfter,
    unit: "tokens",
    raw: tokensBefore,
    ratio: tokensAfter / tokensBefore,
    target: "usable",
    ok: isUsable,
  }))
}

function figures(recall: Recall): object[] {
  const rows = recall.rows().flatMap(({ half, kind, language, counts, ok }) =>
    counts.map(({ kept, due }, at) => ({
      name: [half, kind ?? "all", language, `cycle ${at + 1}`].filter(Boolean).join(" "),
      value: kept / due,
      unit: "of the facts",
      raw: due,
      target: ok === undefined ? null : `at least ${targets[half]}`,
      ok: ok === undefined ? null : kept / due >= targets[half],
    })),
  )
  const budgets = recall.spent.map(({ half, cycle, ledgerTokens, budgetTokens }) => ({
    name: `${half} ledger, cycle ${cycle}`,
    value: ledgerTokens,
    unit: "tokens",
    raw: budgetTokens,
    ratio: ledgerTokens / budgetTokens,
    target: "at most 1 x raw",
    ok: ledgerTokens <= budgetTokens,
  }))
  return [...rows, ...budgets]
}
