import { halves } from "./phrasings/phrasing.ts"
import { type Recall, type Row, type Spent, targets } from "./report.ts"

/** Recall by kind, language and cycle, then the size of the ledgers. */
export function table(recall: Recall): string {
  const cycleNames = Array.from({ length: recall.cycles }, (_, at) => `cycle ${at + 1}`)
  const lines = [line(["recall", "", ...cycleNames, "facts", "target", ""])]
  let half: string | undefined
  for (const row of recall.rows()) {
    if (row.half !== half) lines.push(row.half)
    half = row.half
    lines.push(line(cells(row)))
  }
  lines.push("", line(["ledger", "", ...cycleNames, "", "target", ""]), ...costs(recall))
  return lines.join("\n")
}

function cells({ half, kind, language, counts, ok }: Row): string[] {
  return [
    `  ${kind ?? "all"}`,
    language ?? "",
    ...counts.map(({ kept, due }) => percent(kept, due)),
    String(counts.at(-1)!.due),
    ok === undefined ? "" : `>= ${targets[half] * 100} %`,
    ok === undefined ? "" : ok ? "ok" : "MISSED",
  ]
}

function costs(recall: Recall): string[] {
  return halves.flatMap((half) => {
    const spent = recall.spent.filter((one) => one.half === half)
    if (spent.length === 0) return []
    const row = (name: string, value: (spent: Spent[]) => string, judged: string[] = []) => {
      const byCycle = Array.from({ length: recall.cycles }, (_, at) =>
        value(spent.filter(({ cycle }) => cycle === at + 1)),
      )
      return line([`  ${name}`, "", ...byCycle, "", ...judged])
    }
    const isWithin = spent.every(({ ledgerTokens, budgetTokens }) => ledgerTokens <= budgetTokens)
    return [
      half,
      row("history, tokens", (all) => mean(all.map(({ historyTokens }) => historyTokens))),
      row("budget, tokens", (all) => mean(all.map(({ budgetTokens }) => budgetTokens))),
      row("ledger, tokens", (all) => mean(all.map(({ ledgerTokens }) => ledgerTokens))),
      row(
        "most of a budget",
        (all) => percentOf(Math.max(...all.map((one) => one.ledgerTokens / one.budgetTokens))),
        ["<= 100 %", isWithin ? "ok" : "MISSED"],
      ),
      row("ledger, o200k", (all) => mean(all.map(({ o200kTokens }) => o200kTokens))),
      row(
        "closed todos as open",
        (all) => `${sum(all.map(({ stale }) => stale))}/${sum(all.map(({ over }) => over))}`,
      ),
    ]
  })
}

const widths = [22, 3, 8, 8, 8, 8, 8, 6, 9, 6]

function line(row: readonly string[]): string {
  return row
    .map((cell, at) => (at < 2 || at > 7 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
    .join(" ")
    .trimEnd()
}

function percent(kept: number, due: number): string {
  return due === 0 ? "" : percentOf(kept / due)
}

function percentOf(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function mean(values: readonly number[]): string {
  return values.length === 0 ? "" : Math.round(sum(values) / values.length).toLocaleString("en-US")
}
