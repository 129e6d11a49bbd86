import { type Figure, targetText } from "./figure.ts"

const header = ["figure", "value", "raw", "ratio", "first", "target", ""]
const numbers = new Set([1, 2, 3, 4])

/** The figures as one table for a terminal, a line of its own before each group. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(cells)
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        numbers.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join("  ")
      .trimEnd()
  const rule = widths.map((width) => "-".repeat(width)).join("  ")
  const lines = [line(header), rule]
  for (const [index, figure] of figures.entries()) {
    if (figure.group !== figures[index - 1]?.group) lines.push(figure.group)
    lines.push(line(rows[index]!))
  }
  return lines.join("\n")
}

function cells(figure: Figure): string[] {
  const { value, unit, raw, ratio, first, target, ok } = figure
  return [
    `  ${figure.name}`,
    measure(value, unit),
    raw === undefined ? "" : measure(raw, unit),
    ratio === undefined ? "" : ratio.toFixed(2),
    first === undefined ? "" : measure(first, unit),
    target === undefined ? "" : targetText(target, unit),
    ok === undefined ? "" : ok ? "ok" : "MISSED",
  ]
}

function measure(value: number, unit: string): string {
  return `${amount(value)} ${unit}`.trimEnd()
}

/** Three digits that mean something. */
function amount(value: number): string {
  const size = Math.abs(value)
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en-US")
  if (size >= 10) return value.toFixed(1)
  return value.toFixed(size >= 1 ? 2 : 3)
}
