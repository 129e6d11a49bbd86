/** With more differing lines than this, all lines from the first to the last difference count as replaced. */
const editsMax = 1000
/** Lowers that limit for files with very many lines, so that the time stays bounded. */
const workMax = 40_000_000

export interface LineCounts {
  additions: number
  deletions: number
}

/** Counts the added and deleted lines. A last line with a line break differs from one without, as in git. */
export function countLines(before: string, after: string): LineCounts {
  const counts = { additions: 0, deletions: 0 }
  for (const change of changesBetween(linesOf(before), linesOf(after))) {
    counts.deletions += change.beforeEnd - change.beforeStart
    counts.additions += change.afterEnd - change.afterStart
  }
  return counts
}

export interface UnifiedDiffOptions {
  file: string
  /** Unchanged lines shown around a change; 3 if absent. */
  contextLines?: number
}

/** The change in unified diff format; empty if nothing differs. */
export function unifiedDiff(before: string, after: string, options: UnifiedDiffOptions): string {
  const context = options.contextLines ?? 3
  const beforeLines = linesOf(before)
  const afterLines = linesOf(after)
  const hunks = groupChanges(changesBetween(beforeLines, afterLines), context)
  if (hunks.length === 0) return ""
  const name = shownName(options.file)
  const text = [`--- a/${name}\n+++ b/${name}\n`]
  for (const hunk of hunks) text.push(hunkText(hunk, { beforeLines, afterLines, context }))
  return text.join("")
}

/** The lines from `beforeStart` to `beforeEnd` became those from `afterStart` to `afterEnd`. Ends are exclusive. */
interface Change {
  beforeStart: number
  beforeEnd: number
  afterStart: number
  afterEnd: number
}

/** Each line with its line break. */
function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => `${line}\n`)
  const last = lines.pop()!.slice(0, -1)
  if (last !== "") lines.push(last)
  return lines
}

/** Quotes a name with a line break, which would otherwise look like lines of the diff. */
function shownName(file: string): string {
  return JSON.stringify(file).slice(1, -1) === file ? file : JSON.stringify(file)
}

function changesBetween(before: readonly string[], after: readonly string[]): Change[] {
  let start = 0
  const shorter = Math.min(before.length, after.length)
  while (start < shorter && before[start] === after[start]) start++
  let tail = 0
  while (tail < shorter - start && before.at(-1 - tail) === after.at(-1 - tail)) tail++
  const beforeEnd = before.length - tail
  const afterEnd = after.length - tail
  if (start === beforeEnd && start === afterEnd) return []
  const whole = [{ beforeStart: start, beforeEnd, afterStart: start, afterEnd }]
  if (start === beforeEnd || start === afterEnd) return whole
  const numbers = new Map<string, number>()
  const numbered = (lines: readonly string[], end: number) =>
    Int32Array.from(lines.slice(start, end), (line) => {
      const number = numbers.get(line) ?? numbers.size
      numbers.set(line, number)
      return number
    })
  const changes = shortestChanges(numbered(before, beforeEnd), numbered(after, afterEnd))
  return changes?.map((change) => shifted(change, start)) ?? whole
}

function shifted(change: Change, by: number): Change {
  return {
    beforeStart: change.beforeStart + by,
    beforeEnd: change.beforeEnd + by,
    afterStart: change.afterStart + by,
    afterEnd: change.afterEnd + by,
  }
}

/**
 * Myers' greedy search for the fewest edits. `reach[k]` is the furthest position in `before` that a path on diagonal k
 * (position in `before` minus position in `after`) reaches with the current number of edits. Undefined if the limit of edits
 * is reached.
 */
function shortestChanges(before: Int32Array, after: Int32Array): Change[] | undefined {
  const total = before.length + after.length
  const limit = Math.min(total, editsMax, Math.ceil(workMax / total))
  const middle = limit + 1
  const reach = new Int32Array(2 * limit + 3)
  const trail: Int32Array[] = []
  for (let edits = 0; edits <= limit; edits++) {
    for (let k = -edits; k <= edits; k += 2) {
      const down = isDown(reach, { k, edits, middle })
      let x = down ? reach[middle + k + 1]! : reach[middle + k - 1]! + 1
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x++
      reach[middle + k] = x
      if (x >= before.length && x - k >= after.length) {
        return walkBack(trail, { x: before.length, y: after.length, edits })
      }
    }
    trail.push(reach.slice(middle - edits, middle + edits + 1))
  }
  return undefined
}

function isDown(reach: Int32Array, at: { k: number; edits: number; middle: number }): boolean {
  const { k, edits, middle } = at
  return k === -edits || (k !== edits && reach[middle + k - 1]! < reach[middle + k + 1]!)
}

/** Follows the path back from the end. `trail[d]` holds the reach on the diagonals -d to d after d edits. */
function walkBack(trail: readonly Int32Array[], end: { x: number; y: number; edits: number }): Change[] {
  const changes: Change[] = []
  let { x, y } = end
  for (let edits = end.edits; edits > 0; edits--) {
    const reach = trail[edits - 1]!
    const middle = edits - 1
    const k = x - y
    const down =
      k === -edits || (k !== edits && (reach[middle + k - 1] ?? -1) < (reach[middle + k + 1] ?? -1))
    const fromX = reach[middle + (down ? k + 1 : k - 1)]!
    const fromY = fromX - (down ? k + 1 : k - 1)
    const last = changes.at(-1)
    const next = {
      beforeStart: fromX,
      beforeEnd: down ? fromX : fromX + 1,
      afterStart: fromY,
      afterEnd: down ? fromY + 1 : fromY,
    }
    if (last && last.beforeStart === next.beforeEnd && last.afterStart === next.afterEnd) {
      last.beforeStart = next.beforeStart
      last.afterStart = next.afterStart
    } else changes.push(next)
    x = fromX
    y = fromY
  }
  return changes.reverse()
}

/** Changes whose context lines overlap or touch share a hunk. */
function groupChanges(changes: readonly Change[], context: number): Change[][] {
  const groups: Change[][] = []
  for (const change of changes) {
    const previous = groups.at(-1)?.at(-1)
    if (previous && change.beforeStart - previous.beforeEnd <= 2 * context) groups.at(-1)!.push(change)
    else groups.push([change])
  }
  return groups
}

function hunkText(
  changes: readonly Change[],
  file: { beforeLines: readonly string[]; afterLines: readonly string[]; context: number },
): string {
  const { beforeLines, afterLines, context } = file
  const first = changes[0]!
  const last = changes.at(-1)!
  const lead = Math.min(context, first.beforeStart)
  const trail = Math.min(context, beforeLines.length - last.beforeEnd)
  const text: string[] = []
  const put = (sign: string, lines: readonly string[]) => {
    for (const line of lines)
      text.push(sign, line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`)
  }
  let at = first.beforeStart - lead
  for (const change of changes) {
    put(" ", beforeLines.slice(at, change.beforeStart))
    put("-", beforeLines.slice(change.beforeStart, change.beforeEnd))
    put("+", afterLines.slice(change.afterStart, change.afterEnd))
    at = change.beforeEnd
  }
  put(" ", beforeLines.slice(at, at + trail))
  const beforeRange = rangeText(first.beforeStart - lead, last.beforeEnd + trail)
  const afterRange = rangeText(first.afterStart - lead, last.afterEnd + trail)
  return `@@ -${beforeRange} +${afterRange} @@\n${text.join("")}`
}

/** Line numbers start at 1; an empty range has the number of the line before it. */
function rangeText(start: number, end: number): string {
  const count = end - start
  if (count === 1) return `${start + 1}`
  return `${count === 0 ? start : start + 1},${count}`
}
