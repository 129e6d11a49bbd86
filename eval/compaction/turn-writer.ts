import { estimateTokens } from "../../src/session/index.ts"
import type { Draw } from "./draw.ts"
import { type FilledFact, filledCall } from "./fill-fact.ts"
import { noiseCall } from "./noise-call.ts"
import { NoiseDeck, noiseText } from "./noise-deck.ts"
import { paste } from "./noise-output.ts"
import { assistantNoise, passingTodos, userNoise } from "./noise-prose.ts"
import type { Half, Kind, Language, Listed, Said } from "./phrasings/phrasing.ts"
import type {
  ClosedTodo,
  GeneratedMessage,
  GeneratedSession,
  NewPart,
  PlantedFact,
  SaidNoise,
} from "./session.ts"
import { TodoList } from "./todo-list.ts"
import { toolPart } from "./tool-part.ts"
import { Values } from "./values.ts"

type Place = (at: number) => void

/** A text of a fact, and the callback that gets the index of the message that contains it. */
interface Piece {
  text: string
  placed: Place
}

interface Turn {
  /** The beginning of the user's message: the answer to the question at the end of the previous turn. */
  answer?: Piece
  says: Piece[]
  calls: { part: (at: number) => NewPart; placed: Place }[]
  explains: Piece[]
  /** A question at the end of the assistant's text. The next turn answers it. */
  asks?: string
}

/** About how many tokens a turn has apart from its tool calls. */
const tokensBesideCalls = 300

interface WriterOptions {
  half: Half
  language: Language
  directory: string
  draw: Draw
  name: string
}

/** Writes the turns of a session: the facts, with noise around them. */
export class TurnWriter {
  readonly #options: WriterOptions
  readonly #draw: Draw
  readonly #values: Values
  readonly #todos = new TodoList()
  readonly #facts: PlantedFact[] = []
  readonly #closed: ClosedTodo[] = []
  readonly #noise: SaidNoise[] = []
  readonly #userDeck: NoiseDeck
  readonly #assistantDeck: NoiseDeck
  readonly #cycles: GeneratedMessage[][] = []
  #turns: Turn[] = []
  #messages: GeneratedMessage[] = []
  #count = 0

  constructor(options: WriterOptions) {
    this.#options = options
    this.#draw = options.draw
    this.#values = new Values({ draw: options.draw, language: options.language, root: options.directory })
    const { half, language } = options
    this.#userDeck = new NoiseDeck({ templates: userNoise[half][language], values: this.#values })
    this.#assistantDeck = new NoiseDeck({ templates: assistantNoise[half][language], values: this.#values })
  }

  beginCycle(turns: number): void {
    this.#turns = Array.from({ length: turns }, () => ({ says: [], calls: [], explains: [] }))
    this.#messages = []
  }

  plant({ kind, id, fact, cycle }: { kind: Kind; id: string; fact: FilledFact; cycle: number }): void {
    const { phrasing, keep } = fact
    const { outcome } = phrasing
    const planted: PlantedFact = {
      kind,
      phrasing: id,
      cycle,
      at: -1,
      keep,
      ...(outcome && { outcome }),
      source: "",
    }
    this.#facts.push(planted)
    const placed: Place = (at) => {
      planted.at = at
    }
    switch (phrasing.by) {
      case "user":
        planted.source = this.#plantSaid(fact, phrasing, placed)
        break
      case "assistant":
        planted.source = fact.text(phrasing.text)
        this.#freest((turn) => turn.explains.length).explains.push({ text: planted.source, placed })
        break
      case "tool": {
        const call = filledCall(fact, phrasing)
        planted.source = `${call.tool} ${JSON.stringify(call.input)} ${(call.output ?? call.error ?? "").slice(-200)}`
        this.#plantCall(() => toolPart(call), placed)
        break
      }
      case "patch": {
        const files = phrasing.files.map(fact.text)
        planted.source = `patch ${files.join(" ")}`
        this.#plantCall(() => ({ type: "patch", hash: this.#draw.hex(40), files }), placed)
        break
      }
      case "list": {
        const content = fact.text(phrasing.content)
        const { tool, status } = phrasing
        planted.source = `${tool}: ${content}`
        this.#plantCall((at) => this.#writeList(tool, { at, content, status }), placed)
        break
      }
    }
  }

  /** Writes the turns with about `tokens` tokens in all; `noiseTokens` of them are the user's noise. */
  endCycle({ tokens, noiseTokens }: { tokens: number; noiseTokens: number }): void {
    const turns = this.#turns
    const list: Turn["calls"][number] = {
      part: (at) => this.#writeList("todowrite", { at }),
      placed: () => {},
    }
    turns.at(-2)!.calls.push(list)
    const weights = turns.map(() => this.#draw.int(2, 10))
    const weightOfAll = weights.reduce((a, b) => a + b)
    let [noiseLeft, left] = [0, 0]
    for (const [at, turn] of turns.entries()) {
      noiseLeft += (noiseTokens * weights[at]!) / weightOfAll
      noiseLeft -= this.#sayAll(turn, noiseLeft)
      left += tokens / turns.length
      left -= this.#answerAll(turn, left)
    }
    this.#cycles.push(this.#messages)
  }

  session(): GeneratedSession {
    const { name, half, language } = this.#options
    const [cycles, facts, closed, noise] = [this.#cycles, this.#facts, this.#closed, this.#noise]
    return { name, half, language, cycles, facts, closed, noise }
  }

  /** Returns the whole text of the fact, with the question before it or the correction after it. */
  #plantSaid(fact: FilledFact, { text, asked, later }: Said, placed: Place): string {
    const said = fact.text(text)
    if (asked !== undefined) {
      const free = this.#turns.filter((turn, at) => at > 0 && !turn.answer && !this.#turns[at - 1]!.asks)
      const turn = this.#draw.one(free)
      const before = this.#turns[this.#turns.indexOf(turn) - 1]!
      turn.answer = { text: said, placed }
      before.asks = fact.text(asked)
      return `${before.asks} | ${said}`
    }
    if (later === undefined) {
      this.#freest((turn) => turn.says.length + (turn.answer ? 1 : 0)).says.push({ text: said, placed })
      return said
    }
    const at = this.#draw.int(0, this.#turns.length - 5)
    const corrected = fact.text(later)
    this.#turns[at]!.says.push({ text: said, placed: () => {} })
    this.#turns[at + this.#draw.int(1, 3)]!.says.push({ text: corrected, placed })
    return `${said} | ${corrected}`
  }

  #plantCall(part: (at: number) => NewPart, placed: Place): void {
    this.#freest((turn) => turn.calls.length).calls.push({ part, placed })
  }

  /** A random turn among those with the lowest count. */
  #freest(count: (turn: Turn) => number): Turn {
    const least = Math.min(...this.#turns.map(count))
    return this.#draw.one(this.#turns.filter((turn) => count(turn) === least))
  }

  #writeList(
    tool: Listed["tool"],
    entry: { at: number; content?: string; status?: Listed["status"] },
  ): NewPart {
    const draw = this.#draw
    const passing = () => noiseText(draw.one(passingTodos[this.#options.language]), this.#values)
    this.#todos.closePassing(draw.chance(0.8) ? "completed" : "cancelled")
    this.#todos.add(passing(), { status: draw.one(["completed", "completed", "cancelled"]), isPassing: true })
    if (entry.content !== undefined) this.#todos.add(entry.content, { status: entry.status ?? "pending" })
    // This entry stays open until the next list, which may come after a compaction.
    this.#todos.add(passing(), { status: "pending", isPassing: true })
    const { part, closed } = this.#todos.write(tool, entry.at)
    this.#closed.push(...closed)
    return part
  }

  /** Adds the user's message. Returns the tokens of its noise, without pasted text. */
  #sayAll(turn: Turn, noiseTokens: number): number {
    const noise: string[] = []
    let spent = 0
    const isSilent = turn.answer === undefined && turn.says.length === 0
    while (spent < noiseTokens || (isSilent && noise.length === 0)) {
      const text = this.#userDeck.next()
      noise.push(text)
      spent += estimateTokens(text)
    }
    this.#noise.push(...noise.map((text) => ({ text, at: this.#count })))
    this.#add({ role: "user", parts: [{ type: "text", text: this.#userText(turn, noise) }] }, [
      turn.answer,
      ...turn.says,
    ])
    return spent
  }

  /** Adds the assistant's tool calls and text. Returns about how many tokens they have. */
  #answerAll(turn: Turn, tokens: number): number {
    const calls = [...turn.calls]
    let spent = tokensBesideCalls
    while (spent < tokens) {
      const call = noiseCall(this.#values, this.#options.language)
      spent += estimateTokens((call.output ?? "") + JSON.stringify(call.input))
      calls.push({ part: () => toolPart(call), placed: () => {} })
    }
    this.#steps(this.#draw.shuffled(calls))
    const text = this.#assistantText(turn)
    this.#add({ role: "assistant", parts: [{ type: "text", text }] }, turn.explains)
    return spent
  }

  #steps(calls: Turn["calls"]): void {
    const draw = this.#draw
    for (let at = 0; at < calls.length; ) {
      const group = calls.slice(at, at + draw.int(1, 3))
      at += group.length
      const before: NewPart[] = draw.chance(0.4) ? [{ type: "text", text: this.#assistantDeck.next() }] : []
      const parts = group.map(({ part }) => part(this.#count))
      this.#add({ role: "assistant", parts: [...before, ...parts] }, group)
    }
  }

  #add(message: GeneratedMessage, places: readonly ({ placed: Place } | undefined)[]): void {
    for (const [at, part] of message.parts.entries()) {
      if (part.type === "tool") part.callID = `call_${this.#options.name}_${this.#count}_${at}`
    }
    this.#messages.push(message)
    for (const place of places) place?.placed(this.#count)
    this.#count++
  }

  #userText({ answer, says }: Turn, noise: readonly string[]): string {
    const draw = this.#draw
    const facts = says.map(({ text }) => text)
    const before = answer ? 0 : draw.int(0, noise.length)
    const sentences = [
      ...(answer ? [answer.text] : []),
      ...noise.slice(0, before),
      ...facts,
      ...noise.slice(before),
    ]
    const text = this.#lines(sentences).join("\n")
    if (!draw.chance(facts.length > 0 ? 0.15 : 0.35)) return text
    const pasted = paste(this.#values, this.#options.language)
    return draw.chance(0.7) ? `${text}\n\n${pasted}` : `${pasted}\n\n${text}`
  }

  /** Some users write one sentence per line, others several. */
  #lines(sentences: readonly string[]): string[] {
    const most = this.#draw.one([1, 2, 3, 5])
    const lines: string[] = []
    for (let at = 0; at < sentences.length; ) {
      const group = sentences.slice(at, at + this.#draw.int(1, most))
      at += group.length
      lines.push(group.reduce((a, b) => `${a}${this.#between(a)}${b}`))
    }
    return lines
  }

  /** The separator of two sentences on one line. */
  #between(before: string): string {
    if (this.#options.language === "zh")
      return /[。？！，…]$/.test(before) ? "" : this.#draw.one(["。", "，"])
    return /[.?!…]$/.test(before) ? " " : ". "
  }

  #assistantText({ explains, asks }: Turn): string {
    const draw = this.#draw
    const noise = Array.from({ length: draw.int(2, 6) }, () => this.#assistantDeck.next())
    const said = draw.shuffled([...noise, ...explains.map(({ text }) => text)])
    const text = said.join(draw.one([" ", "\n\n", "\n"]))
    return asks ? `${text}\n\n${asks}` : text
  }
}
