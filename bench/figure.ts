/** The target of a figure: for its own value, or relative to the raw figure. */
export type Target =
  | { under: number }
  | { atMost: number }
  | { timesRawAtMost: number }
  | { timesRawAtLeast: number }
  | { overRawAtMost: number }

export interface Figure {
  group: string
  name: string
  value: number
  unit: string
  /** Nine of ten calls were faster. */
  p90?: number
  /** The same work with the least possible code, measured in the same run. */
  raw?: number
  ratio?: number
  /** The first call, before any warm-up. */
  first?: number
  target?: Target
  ok?: boolean
}

export type NewFigure = Omit<Figure, "group" | "ratio" | "ok">

/** Collects the figures of a run. A figure without a target is for information. */
export class Report {
  readonly figures: Figure[] = []

  add(group: string, figure: NewFigure): void {
    const ratio = figure.raw === undefined || figure.raw === 0 ? undefined : figure.value / figure.raw
    this.figures.push({ group, ...figure, ratio, ok: isReached(figure) })
  }

  /** The figures as other programs read them. */
  toJSON(): Record<string, unknown>[] {
    return this.figures.map(({ group, target, ok, ...rest }) => ({
      ...rest,
      name: `${group}: ${rest.name}`,
      target: target === undefined ? null : targetText(target, rest.unit),
      ok: ok ?? null,
    }))
  }
}

function isReached({ value, raw = Number.NaN, target }: NewFigure): boolean | undefined {
  if (target === undefined) return undefined
  if ("under" in target) return value < target.under
  if ("atMost" in target) return value <= target.atMost
  if ("timesRawAtMost" in target) return value <= target.timesRawAtMost * raw
  if ("timesRawAtLeast" in target) return value >= target.timesRawAtLeast * raw
  return value - raw <= target.overRawAtMost
}

export function targetText(target: Target, unit: string): string {
  if ("under" in target) return `under ${target.under} ${unit}`
  if ("atMost" in target) return `at most ${target.atMost} ${unit}`
  if ("timesRawAtMost" in target) return `at most ${target.timesRawAtMost} x raw`
  if ("timesRawAtLeast" in target) return `at least ${target.timesRawAtLeast} x raw`
  return `at most ${target.overRawAtMost} ${unit} over raw`
}
