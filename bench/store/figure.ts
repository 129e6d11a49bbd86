/** What a figure must reach: of its own value, or of its ratio to the raw figure. */
export type Target = { under: number } | { atMost: number } | { timesRawAtMost: number }

export interface Figure {
  group: string
  name: string
  value: number
  unit: string
  /** The same with bare `node:sqlite`, measured in the same run. */
  raw?: number
  ratio?: number
  /** The first call, before anything was warm. */
  first?: number
  target?: Target
  ok?: boolean
}

export type NewFigure = Omit<Figure, "group" | "ratio" | "ok">

/** Collects the figures of a run. One without a target is there to be looked at. */
export class Report {
  readonly figures: Figure[] = []

  add(group: string, figure: NewFigure): void {
    const ratio = figure.raw === undefined || figure.raw === 0 ? undefined : figure.value / figure.raw
    const ok = figure.target === undefined ? undefined : reached(figure.value, ratio, figure.target)
    this.figures.push({ group, ...figure, ratio, ok })
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

function reached(value: number, ratio: number | undefined, target: Target): boolean {
  if ("under" in target) return value < target.under
  if ("atMost" in target) return value <= target.atMost
  return ratio !== undefined && ratio <= target.timesRawAtMost
}

export function targetText(target: Target, unit: string): string {
  if ("under" in target) return `under ${target.under} ${unit}`
  if ("atMost" in target) return `at most ${target.atMost} ${unit}`
  return `at most ${target.timesRawAtMost} x raw`
}
