/** The decisions of one random step. They come from a list of numbers, so that a smaller list is a simpler step. */
export interface Draw {
  /** An integer from 0 up to, but not including, `limit`. */
  below(limit: number): number
  one<T>(list: readonly T[]): T
  /** True in the given percentage of cases. */
  chance(percent: number): boolean
}

export function drawFrom(numbers: readonly number[]): Draw {
  let index = 0
  const below = (limit: number) => (numbers[index++] ?? 0) % limit
  return {
    below,
    one(list) {
      if (list.length === 0) throw new Error("there is nothing to draw from")
      return list[below(list.length)]!
    },
    chance: (percent) => below(100) >= 100 - percent,
  }
}
