/**
 * Returns a function that remembers its last result. Ranking a sentence asks for the same names and commands several times
 * in a row. The callers must not change the result.
 */
export function rememberLast<T>(find: (text: string) => T): (text: string) => T {
  let last: { text: string; result: T } | undefined
  return (text) => {
    if (last?.text !== text) last = { text, result: find(text) }
    return last.result
  }
}
