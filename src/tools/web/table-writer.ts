import type { MarkdownWriter, Marker } from "./markdown-writer.ts"

interface Table {
  rows: number
  /** The cell separators of the open row. */
  bars: Marker[]
  inCell: boolean
  /** True if the table contains another table and therefore only arranges the page. */
  isLayout: boolean
}

/** Writes tables with one row per line. Each method starts a table part and returns the function to call at its end. */
export class TableWriter {
  #writer: MarkdownWriter
  #plain: boolean
  #tables: Table[] = []

  constructor(writer: MarkdownWriter, { plain }: { plain: boolean }) {
    this.#writer = writer
    this.#plain = plain
  }

  get inCell(): boolean {
    return this.#tables.at(-1)?.inCell ?? false
  }

  begin(): () => void {
    const outer = this.#tables.at(-1)
    if (outer) {
      outer.isLayout = true
      outer.inCell = false
      for (const bar of outer.bars) bar.text = ""
      outer.bars = []
      this.#writer.break(1)
    }
    this.#tables.push({ rows: 0, bars: [], inCell: false, isLayout: false })
    return () => void this.#tables.pop()
  }

  beginRow(): (() => void) | undefined {
    const table = this.#tables.at(-1)
    if (table === undefined) return undefined
    table.bars = []
    return () => this.#endRow(table)
  }

  beginCell(): (() => void) | undefined {
    const table = this.#tables.at(-1)
    if (table === undefined || table.isLayout) {
      this.#writer.break(1)
      return undefined
    }
    const first = this.#plain ? "" : "| "
    this.#writer.noSpace()
    table.bars.push(this.#writer.open(table.bars.length === 0 ? first : " | "))
    table.inCell = true
    return () => {
      table.inCell = false
      this.#writer.noSpace()
    }
  }

  /** Empty cells are written; empty rows are dropped. */
  #endRow(table: Table): void {
    const { bars } = table
    table.bars = []
    if (!bars.some((bar) => bar.written)) {
      for (const bar of bars.toReversed()) this.#writer.close(bar, "")
      return
    }
    this.#writer.flush()
    if (this.#plain) return
    this.#writer.close(bars[0]!, " |")
    if (table.rows++ === 0) this.#writer.line(`|${" --- |".repeat(bars.length)}`)
  }
}
