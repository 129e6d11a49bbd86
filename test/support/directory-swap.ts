import { lstatSync, renameSync, symlinkSync, unlinkSync } from "node:fs"
import { Worker } from "node:worker_threads"

export interface DirectorySwap {
  /** The directory that is replaced. */
  directory: string
  /** What the symlink in its place leads to. */
  outside: string
}

/** Replaces a directory by a symlink that leads outside. */
export function swapOut({ directory, outside }: DirectorySwap): void {
  renameSync(directory, `${directory}.moved`)
  symlinkSync(outside, directory)
}

/** Puts the directory back; does nothing if it is there. */
export function swapBack({ directory }: DirectorySwap): void {
  if (!lstatSync(directory).isSymbolicLink()) return
  unlinkSync(directory)
  renameSync(`${directory}.moved`, directory)
}

/** Replaces a directory by a symlink and puts it back, as often as it can, until it is disposed. */
export async function keepSwapping(swap: DirectorySwap): Promise<AsyncDisposable> {
  const stop = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(swapLoop, { eval: true, workerData: { ...swap, stop } })
  const ended = new Promise<void>((resolve, reject) => {
    worker.once("error", reject)
    worker.once("exit", () => resolve())
  })
  await new Promise<void>((resolve, reject) => {
    worker.once("message", () => resolve())
    worker.once("error", reject)
  })
  return {
    async [Symbol.asyncDispose]() {
      Atomics.store(stop, 0, 1)
      await ended
    },
  }
}

/**
 * The pauses differ, so that the replacement falls between any two steps of the code under test. While the directory is
 * away, the code under test may make a new one, which is removed.
 */
const swapLoop = `
const { renameSync, rmSync, symlinkSync, unlinkSync } = require("node:fs")
const { parentPort, workerData } = require("node:worker_threads")
const { directory, outside, stop } = workerData
const moved = directory + ".moved"
const insist = (step) => {
  for (;;) {
    try {
      return step()
    } catch (error) {
      if (!["EEXIST", "ENOTEMPTY"].includes(error.code)) throw error
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    }
  }
}
const pause = (us) => { const end = process.hrtime.bigint() + BigInt(us) * 1000n; while (process.hrtime.bigint() < end); }
parentPort.postMessage("ready")
for (let round = 0; Atomics.load(stop, 0) === 0; round++) {
  renameSync(directory, moved)
  insist(() => symlinkSync(outside, directory))
  pause((round * 37) % 400)
  unlinkSync(directory)
  insist(() => renameSync(moved, directory))
  pause((round * 53) % 400)
}
`
