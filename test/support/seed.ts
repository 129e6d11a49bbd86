/**
 * Every random test prints its seed when it starts and when it fails. `STEMMA_SEED=<seed> npx vitest run <file>`
 * repeats the run; with the path that fast-check prints, `STEMMA_PATH=<path>` runs only the smallest failing case.
 */
export function testSeed(what: string): { seed: number; path?: string } {
  const given = process.env.STEMMA_SEED
  const seed = given === undefined ? Date.now() & 0x7fffffff : Number(given)
  const path = process.env.STEMMA_PATH
  process.stdout.write(`${what}: STEMMA_SEED=${seed}${path ? ` STEMMA_PATH=${path}` : ""}\n`)
  return path === undefined ? { seed } : { seed, path }
}

/** True in `npm run soak`. */
export const isSoak = process.env.STEMMA_SOAK !== undefined

/** How often a random test repeats: `test` times in `npm test`, `soak` times in `npm run soak`, or a multiple of that. */
export function repeats({ test, soak }: { test: number; soak: number }): number {
  return isSoak ? soakTimes(soak) : test
}

/** How often a test of the soak repeats: STEMMA_SOAK multiplies it. */
export function soakTimes(count: number): number {
  return Math.ceil(count * Number(process.env.STEMMA_SOAK))
}

/** Numbers in [0, 1) that depend on the seed only. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
