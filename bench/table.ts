import { type Figure, targetText } from "./figure.ts"

const header = ["figure", "value", "p90", "raw", "ratio", "over", "first", "target", ""]
const numbers = new Set([1, 2, 3, 4, 5, 6])

/** The figures as one table for a terminal, with a heading before each group. Empty columns are left out. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(cells)
  const used = header.map((_, column) => rows.some((row) => row[column] !== ""))
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  )
  const pad = (cell: string, column: number) =>
    numbers.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)
  const line = (row: readonly string[]) =>
    row
      .map(pad)
      .filter((_, column) => used[column])
      .join("  ")
      .trimEnd()
  const lines = [line(header), line(widths.map((width) => "-".repeat(width)))]
  for (const [index, figure] of figures.entries()) {
    if (figure.group !== figures[index - 1]?.group) lines.push(figure.group)
    lines.push(line(rows[index]!))
  }
  return lines.join("\n")
}

function cells(figure: Figure): string[] {
  const { value, unit, p90, raw, ratio, first, target, ok } = figure
  const isDifference = target !== undefined && "overRawAtMost" in target
  return [
    `  ${figure.name}`,
    measure(value, unit),
    p90 === undefined ? "" : measure(p90, unit),
    raw === undefined ? "" : measure(raw, unit),
    ratio === undefined ? "" : ratio.toFixed(2),
    isDifference && raw !== undefined ? measure(value - raw, unit) : "",
    first === undefined ? "" : measure(first, unit),
    target === undefined ? "" : targetText(target, unit),
    ok === undefined ? "" : ok ? "ok" : "MISSED",
  ]
}

function measure(value: number, unit: string): string {
  return `${amount(value)} ${unit}`.trimEnd()
}

/** Three significant digits. */
function amount(value: number): string {
  const size = Math.abs(value)
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en-US")
  if (size >= 10) return value.toFixed(1)
  return value.toFixed(size >= 1 ? 2 : 3)
}
