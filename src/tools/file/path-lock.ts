/** The last queued task of each real path. An entry is removed when no task is queued after it. */
const tails = new Map<string, Promise<unknown>>()

/**
 * Runs tasks on the same file one after another, in their order of arrival, so that two edits in one step, or by two
 * sessions of this process, do not lose each other's change.
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
