/** This many calls in a row with the same tool, input and result are a doom loop. */
export const doomLoopLength = 3

export interface SettledCall {
  tool: string
  input: string
  result: string
}

/** The tool whose last calls form a doom loop; undefined if there is none. */
export function findDoomLoop(calls: readonly SettledCall[]): string | undefined {
  const last = calls.at(-1)
  if (last === undefined || calls.length < doomLoopLength) return undefined
  const isLoop = calls
    .slice(-doomLoopLength)
    .every(({ tool, input, result }) => tool === last.tool && input === last.input && result === last.result)
  return isLoop ? last.tool : undefined
}
