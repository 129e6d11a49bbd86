/** Dollars per million tokens. Of a price that rises with the length of the context, the first level. */
export interface ListedPrice {
  input?: number
  output?: number
  read?: number
  write?: number
}

/** A price that holds from a date on, or at certain hours of each day; always, if it names neither. */
export interface TimedPrice extends ListedPrice {
  /** An ISO date: midnight UTC. */
  from?: string
  /** The begin and the end of the hours, in seconds after midnight UTC. The end may be on the next day. */
  daily?: readonly [number, number]
}

/** Which names of models an entry is for. All texts are in lower case. */
export type Match =
  | { or: readonly Match[] }
  | { and: readonly Match[] }
  | { equals: string }
  | { starts_with: string }
  | { ends_with: string }
  | { contains: string }
  | { regex: string }

export interface ListedModel {
  id: string
  name?: string
  /** In tokens. */
  context?: number
  deprecated?: true
  match: Match
  /** The last price that holds at a moment is the price. */
  prices: readonly TimedPrice[]
}

export interface PriceList {
  models: readonly ListedModel[]
  /** The lists whose models this provider offers too, at their prices. */
  fallbacks?: readonly string[]
}

const lists = new Map<string, PriceList | undefined>()

/** The price list of a provider; undefined if there is none. Each list is parsed when it is first needed. */
export async function priceList(id: string): Promise<PriceList | undefined> {
  if (lists.has(id)) return lists.get(id)
  const { priceLists } = await import("./price-lists.gen.ts")
  const text = Object.hasOwn(priceLists, id) ? priceLists[id] : undefined
  const list = text === undefined ? undefined : (JSON.parse(text) as PriceList)
  lists.set(id, list)
  return list
}

/** The entry of a model; undefined if neither the list nor its fallbacks have one. */
export async function findListed(list: PriceList, modelID: string): Promise<ListedModel | undefined> {
  const name = modelID.toLowerCase().trim()
  const others = await Promise.all((list.fallbacks ?? []).map(priceList))
  const models = [list, ...others].flatMap((one) => one?.models ?? [])
  const find = (wanted: string) => models.find(({ match }) => matches(match, wanted))
  return find(name) ?? find(withDashes(name))
}

function matches(match: Match, name: string): boolean {
  if ("or" in match) return match.or.some((one) => matches(one, name))
  if ("and" in match) return match.and.every((one) => matches(one, name))
  if ("equals" in match) return name === match.equals
  if ("starts_with" in match) return name.startsWith(match.starts_with)
  if ("ends_with" in match) return name.endsWith(match.ends_with)
  if ("contains" in match) return name.includes(match.contains)
  return new RegExp(match.regex).test(name)
}

const compactDate = /(-)(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g

/** Writes a date such as 20260131 in a model's name as 2026-01-31, which other entries use. */
function withDashes(name: string): string {
  return name.replace(compactDate, (found, dash: string, year: string, month: string, day: string) => {
    const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
    return date.getUTCDate() === Number(day) ? `${dash}${year}-${month}-${day}` : found
  })
}

/** The price of a model at a moment. */
export function priceAt({ prices }: ListedModel, nowMs: number): ListedPrice {
  return prices.findLast((price) => holdsAt(price, nowMs)) ?? prices[0] ?? {}
}

function holdsAt({ from, daily }: TimedPrice, nowMs: number): boolean {
  if (from !== undefined) return nowMs >= Date.parse(from)
  if (!daily) return true
  const [start, end] = daily
  const second = (nowMs / 1000) % 86_400
  return end < start ? second >= start || second < end : second >= start && second < end
}
