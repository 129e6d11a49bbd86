import { type Price, StemmaError, type Tokens } from "../../protocol/index.ts"

/** `digits` times ten to the power of minus `scale`. */
interface Decimal {
  digits: bigint
  scale: number
}

const picoScale = 12
const perMillionScale = 6

/** A number as its shortest decimal text, which is what people see. */
function decimalOf(value: number): Decimal {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value))
  if (!match) throw new StemmaError("invalid", `${value} is not an amount of money. Give a finite number.`)
  const [, sign, whole, fraction = "", exponent = "0"] = match
  const digits = BigInt(`${sign}${whole}${fraction}`)
  return { digits, scale: fraction.length - Number(exponent) }
}

/** The digits at another scale. Digits beyond the scale are rounded, half away from zero. */
function atScale({ digits, scale }: Decimal, target: number): bigint {
  if (scale <= target) return digits * 10n ** BigInt(target - scale)
  const divisor = 10n ** BigInt(scale - target)
  const half = digits < 0n ? -divisor / 2n : divisor / 2n
  return (digits + half) / divisor
}

/** Dollars as whole units of 1e-12 dollar, exact up to twelve decimals. Sums of these units have no rounding drift. */
export function toPico(dollars: number): bigint {
  return atScale(decimalOf(dollars), picoScale)
}

/** The number nearest to this many units of 1e-12 dollar. `toPico` gives the same units back, below 4,000 dollars. */
export function fromPico(pico: bigint): number {
  const magnitude = (pico < 0n ? -pico : pico).toString().padStart(picoScale + 1, "0")
  const text = `${magnitude.slice(0, -picoScale)}.${magnitude.slice(-picoScale)}`
  return pico < 0n ? -Number(text) : Number(text)
}

export function addCost(a: number, b: number): number {
  return fromPico(toPico(a) + toPico(b))
}

/** The cost of a model call in dollars, exact to 1e-12. Reasoning is priced as output. An absent cache price is 0. */
export function costOf(tokens: Tokens, price: Price): number {
  const charges: [count: number, perMillion: number][] = [
    [tokens.input, price.input],
    [tokens.output, price.output],
    [tokens.reasoning, price.output],
    [tokens.cache.read, price.cache?.read ?? 0],
    [tokens.cache.write, price.cache?.write ?? 0],
  ]
  const prices = charges.map(([count, perMillion]) => ({ count: BigInt(count), ...decimalOf(perMillion) }))
  const scale = Math.max(...prices.map((charge) => charge.scale), 0)
  const digits = prices.reduce((sum, charge) => sum + charge.count * atScale(charge, scale), 0n)
  return fromPico(atScale({ digits, scale: scale + perMillionScale }, picoScale))
}
