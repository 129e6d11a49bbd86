import { commandCase } from "./commands.ts"
import type { Draw } from "./draw.ts"
import type { Language, Outcome } from "./phrasings/phrasing.ts"
import { days, environments, layouts, libraries, names, nouns, services, verbs } from "./words.ts"

export interface ValuesOptions {
  draw: Draw
  language: Language
  /** The session's directory. */
  root: string
}

/** Makes values for slots. A value that could be mistaken for another fact is used only once. */
export class Values {
  readonly draw: Draw
  readonly #language: Language
  readonly #root: string
  readonly #given = new Set<string>()

  constructor({ draw, language, root }: ValuesOptions) {
    this.draw = draw
    this.#language = language
    this.#root = root
  }

  noun = (): string => this.draw.one(nouns)
  service = (): string => this.draw.one(services)

  path = (): string => {
    const { draw } = this
    const { directories, endings } = draw.one(layouts)
    const ending = draw.one(endings)
    const name = this.#join(draw.one(["-", "_", ""]), [draw.one([...verbs, ...nouns]), this.noun()])
    const file = ending.startsWith("_") ? `${name}${ending}` : `${name}.${ending}`
    const below = draw.chance(0.4) ? `/${this.noun()}` : ""
    return this.once(() => `${draw.one(directories)}${below}/${file}`)
  }

  directory = (): string =>
    `${this.draw.one(this.draw.one(layouts).directories)}/${this.noun()}-${this.noun()}/`

  fn = (): string => {
    const { draw } = this
    const words = [draw.one(verbs), this.noun(), ...(draw.chance(0.5) ? [this.noun()] : [])]
    return draw.chance(0.7) ? this.#join("", words) : words.join("_")
  }

  url = (): string => {
    const { draw } = this
    return draw.one([
      () => `https://github.com/acme/${this.noun()}-${this.noun()}/pull/${draw.int(100, 9999)}`,
      () => `https://gitlab.acme.dev/shop/${this.noun()}/-/merge_requests/${draw.int(10, 999)}`,
      () => `https://wiki.acme.dev/spaces/${this.noun().toUpperCase()}/pages/${draw.int(100000, 999999)}`,
      () => `https://docs.${this.noun()}.io/${this.noun()}/${this.noun()}-${draw.int(2, 20)}`,
    ])()
  }

  uuid = (): string => {
    const { draw } = this
    return [draw.hex(8), draw.hex(4), `4${draw.hex(3)}`, `a${draw.hex(3)}`, draw.hex(12)].join("-")
  }

  hash = (): string =>
    `${this.draw.int(1, 9)}${this.draw.hex(this.draw.int(6, 9))}${this.draw.one(["a", "c", "e"])}`

  host = (): string =>
    `${this.noun()}-${this.draw.int(1, 40)}.${this.draw.one(["eu", "us", "ap", "cn"])}.acme.internal`

  version = (): string => {
    const { draw } = this
    const suffix = draw.chance(0.2) ? `-rc.${draw.int(1, 9)}` : ""
    return `${draw.int(0, 19)}.${draw.int(0, 40)}.${draw.int(0, 30)}${suffix}`
  }

  code = (): string => {
    const { draw } = this
    return draw.one([
      () => `E${draw.int(1000, 9999)}`,
      () => `TS${draw.int(2000, 7999)}`,
      () => `ORA-0${draw.int(1000, 4999)}`,
      () => `ERR_${this.noun().toUpperCase()}_${draw.one(["TIMEOUT", "CLOSED", "INVALID", "RESET"])}`,
      () => `${draw.int(22, 57)}P${draw.int(10, 99)}`,
      () => `SHOP-${draw.int(10000, 99999)}`,
    ])()
  }

  /** A command with the given outcome, and its output. */
  command(outcome: Outcome): { command: string; output: string; exit: number | null } {
    const drawn = commandCase(this)
    if (this.#given.has(drawn.command)) return this.command(outcome)
    this.#given.add(drawn.command)
    if (outcome === "ok") return { command: drawn.command, output: drawn.ok, exit: 0 }
    if (outcome === "failed") return { command: drawn.command, output: drawn.failed, exit: drawn.exit }
    return { command: drawn.command, output: "(starting)", exit: null }
  }

  /** A value that was not used before. After 50 attempts a small pool may return a used one. */
  once(make: () => string): string {
    let value = make()
    for (let tries = 0; tries < 50 && this.#given.has(value); tries++) value = make()
    this.#given.add(value)
    return value
  }

  /** A value for a slot. `name` is the slot's name without its number. */
  slot(name: string): string {
    const make = this.#slots[name]
    if (!make) throw new Error(`There is no slot ${name}.`)
    return make()
  }

  #join(separator: string, words: readonly string[]): string {
    if (separator !== "") return words.join(separator)
    return words.map((word, at) => (at === 0 ? word : `${word[0]!.toUpperCase()}${word.slice(1)}`)).join("")
  }

  readonly #slots: Record<string, () => string> = {
    command: () => this.command("ok").command,
    path: () => this.path(),
    dir: () => this.once(this.directory),
    root: () => this.#root,
    fn: () => this.once(this.fn),
    cls: () =>
      this.once(
        () =>
          `${this.#capital(this.noun())}${this.#capital(this.noun())}${this.draw.one(["Store", "Policy", "Client", "Reader"])}`,
      ),
    n: () => String(this.draw.int(11, 480)),
    ms: () => String(this.draw.int(4, 90) * 10),
    code: () => this.once(this.code),
    lib: () => this.once(() => this.draw.one(libraries)),
    version: () => this.once(this.version),
    branch: () =>
      this.once(() => `${this.draw.one(["feat", "fix", "release", "chore"])}/${this.noun()}-${this.noun()}`),
    service: () => this.service(),
    table: () => this.once(() => `${this.noun()}_${this.noun()}s`),
    column: () =>
      this.once(() => `${this.noun()}_${this.draw.one(["at", "id", "state", "count", "ref", "hash"])}`),
    flag: () => this.once(() => `${this.draw.one(["enable", "new", "use"])}-${this.noun()}-${this.noun()}`),
    ticket: () =>
      this.once(
        () => `${this.draw.one(["PAY", "SHOP", "OPS", "WEB", "CORE", "MOB"])}-${this.draw.int(100, 9999)}`,
      ),
    issue: () => this.once(() => String(this.draw.int(1000, 99999))),
    url: () => this.once(this.url),
    uuid: this.uuid,
    ip: () =>
      this.once(() => `10.${this.draw.int(0, 250)}.${this.draw.int(0, 250)}.${this.draw.int(2, 250)}`),
    host: () => this.once(this.host),
    port: () => this.once(() => String(this.draw.int(3001, 49000))),
    email: () => this.once(() => `${this.noun()}.${this.noun()}${this.draw.int(1, 99)}@acme.dev`),
    image: () => this.once(() => `registry.acme.dev/${this.service()}:${this.version()}-${this.draw.hex(7)}`),
    sha: () => this.draw.hex(40),
    hash: () => this.once(this.hash),
    bucket: () => this.once(() => `acme-${this.noun()}-${this.noun()}-${this.draw.int(100, 999)}`),
    runid: () => this.once(() => String(this.draw.int(1_000_000_000, 9_999_999_999))),
    sentry: () => this.once(() => `SHOP-${this.draw.hex(2).toUpperCase()}${this.draw.int(2, 9)}K`),
    name: () => this.draw.one(names[this.#language]),
    day: () => this.draw.one(days[this.#language]),
    env: () => this.draw.one(environments),
    pct: () => String(this.draw.int(3, 97)),
    noun: () => this.noun(),
    time: () => `${this.draw.int(7, 22)}:${this.draw.int(10, 59)}`,
  }

  #capital(word: string): string {
    return `${word[0]!.toUpperCase()}${word.slice(1)}`
  }
}

export type Slots = Map<string, string>

const slotPattern = /\{([a-z]+)(\d?)\}/g

/**
 * Fills the slots of a text. Within `slots`, one slot always has the same value, and two slots have different values.
 */
export function fill(text: string, { values, slots }: { values: Values; slots: Slots }): string {
  return text.replace(slotPattern, (_, name: string, number: string) => {
    const key = `${name}${number}`
    const known = slots.get(key)
    if (known !== undefined) return known
    const taken = new Set(slots.values())
    let value = values.slot(name)
    while (name !== "root" && taken.has(value)) value = values.slot(name)
    slots.set(key, value)
    return value
  })
}
