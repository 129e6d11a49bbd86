/** Numbers in [0, 1) that are the same for the same seed. */
export type Random = () => number

export function seededRandom(seed: number): Random {
  let a = 0x9e3779b9 ^ seed
  let b = 0x243f6a88
  let c = 0xb7e15162
  let d = 1
  const next = () => {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 4294967296
  }
  for (let i = 0; i < 16; i++) next()
  return next
}

/**
 * Draws numbers below `size` so that number n occurs about 1 / (n + shift) as often as the first, like the words of a
 * language.
 */
export function zipf(size: number, random: Random, { shift = 2.7, power = 1 } = {}): () => number {
  // Walker's alias method: two draws for a number, whatever the size.
  const weights = Float64Array.from({ length: size }, (_, n) => 1 / (n + shift) ** power)
  const mean = weights.reduce((sum, weight) => sum + weight, 0) / size
  const share = weights.map((weight) => weight / mean)
  const alias = new Int32Array(size)
  const small: number[] = []
  const large: number[] = []
  for (let n = 0; n < size; n++) (share[n]! < 1 ? small : large).push(n)
  while (small.length > 0 && large.length > 0) {
    const low = small.pop()!
    const high = large.at(-1)!
    alias[low] = high
    share[high]! -= 1 - share[low]!
    if (share[high]! < 1) small.push(large.pop()!)
  }
  for (const n of [...small, ...large]) share[n] = 1
  return () => {
    const n = Math.floor(random() * size)
    return random() < share[n]! ? n : alias[n]!
  }
}
