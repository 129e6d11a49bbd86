/** By real path: what is under way. An entry goes when nobody waits any more. */
const tails = new Map<string, Promise<unknown>>()

/**
 * Runs works on the same file one after another, in the order in which they came: two edits in one step, or by two
 * sessions of this process, never lose one another's change.
 */
export async function withPathLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const before = tails.get(path)
  const result = before === undefined ? work() : before.then(work)
  const tail = result.then(ignore, ignore)
  tails.set(path, tail)
  try {
    return await result
  } finally {
    if (tails.get(path) === tail) tails.delete(path)
  }
}

function ignore(): void {}
