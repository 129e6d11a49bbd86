/** So many calls in a row with the same tool, input and result are a loop that leads nowhere. */
export const doomLoopLength = 3

export interface SettledCall {
  tool: string
  input: string
  result: string
}

/** The tool that has been called in the same way with the same result three times in a row; undefined if none. */
export function doomLoop(calls: readonly SettledCall[]): string | undefined {
  const last = calls.at(-1)
  if (last === undefined || calls.length < doomLoopLength) return undefined
  const isLoop = calls
    .slice(-doomLoopLength)
    .every(({ tool, input, result }) => tool === last.tool && input === last.input && result === last.result)
  return isLoop ? last.tool : undefined
}
