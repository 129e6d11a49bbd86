import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { checkLedger } from "../eval/compaction/check.ts"
import { budgetOf, messageWriter } from "../eval/compaction/cycle.ts"
import { evaluate } from "../eval/compaction/evaluate.ts"
import { cycles, factsOfKind, generateSessions } from "../eval/compaction/generate.ts"
import { assistantNoise, userNoise } from "../eval/compaction/noise-prose.ts"
import { phrasings } from "../eval/compaction/phrasings/index.ts"
import { halves, kinds, languages, type Phrasing } from "../eval/compaction/phrasings/phrasing.ts"
import type { GeneratedMessage, GeneratedSession, PlantedFact } from "../eval/compaction/session.ts"
import { table } from "../eval/compaction/table.ts"
import { estimateMessageTokens, estimateTokens } from "../src/session/index.ts"
import { filesBelow, importsOfFile } from "../tools/imports.ts"

const directory = "/home/dev/shop"

function generated(options: { seed?: number; sessions?: number } = {}): GeneratedSession[] {
  return [...generateSessions({ seed: 1, sessions: 4, directory, ...options })]
}

function tokensOf(messages: readonly GeneratedMessage[]): number {
  return messages.map(messageWriter(directory)).reduce((sum, item) => sum + estimateMessageTokens(item), 0)
}

function saidBy(role: "user" | "assistant", messages: readonly GeneratedMessage[]): string {
  const parts = messages.filter((message) => message.role === role).flatMap((message) => message.parts)
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
}

describe("the phrasings", () => {
  test.each(kinds)("there are a hundred for %s, half of them held out, in both languages", (kind) => {
    for (const half of halves) {
      const { en, zh } = phrasings[half][kind]
      expect(en.length + zh.length).toBeGreaterThanOrEqual(50)
      expect(Math.abs(en.length - zh.length)).toBeLessThanOrEqual(4)
    }
  })

  test("none is in both halves, and none is there twice", () => {
    const texts = everyPhrasing().flatMap(({ phrasing }) =>
      proseOf(phrasing) ? [JSON.stringify(phrasing)] : [],
    )
    expect(new Set(texts.map((text) => text.toLowerCase())).size).toBe(texts.length)
    for (const noise of [userNoise, assistantNoise]) {
      for (const language of languages) {
        const open = new Set(noise.open[language])
        expect(noise["held-out"][language].filter((text) => open.has(text))).toHaveLength(0)
      }
    }
  })

  test.each(halves)("the %s half has noise enough of its own", (half) => {
    for (const language of languages) {
      expect(new Set(userNoise[half][language]).size).toBeGreaterThanOrEqual(150)
      expect(new Set(assistantNoise[half][language]).size).toBeGreaterThanOrEqual(50)
    }
  })

  test("none is marked as what it is", () => {
    const marker =
      /\b(?:important|constraint|decision|decided|todo|note|remember|requirement|rule)s?\s*[:：]|(?:重要|约束|决定|待办|注意|要求|备注)[:：]/i
    const shouted = /\b(?:IMPORTANT|TODO|NOTE|MUST|NEVER|ALWAYS)\b/
    const marked = everyPhrasing().filter(({ phrasing }) => {
      const text = proseOf(phrasing)
      return marker.test(text) || shouted.test(text)
    })
    expect(marked.map(({ id }) => id)).toEqual([])
  })

  test("nothing outside the evaluation reads the held-out half", () => {
    const importers = ["src", "test", "bench", "examples", "tools"].flatMap((folder) =>
      filesBelow(folder, ".ts"),
    )
    const found = importers.filter((file) => {
      if (file.endsWith("eval-compaction.test.ts")) return false
      return importsOfFile(file).some(({ specifier }) => /held-out|phrasings\/index/.test(specifier))
    })
    expect(found).toEqual([])
    const ledger = filesBelow("src/session/ledger", ".ts").map((file) => readFileSync(file, "utf8"))
    expect(ledger.filter((text) => text.includes("held-out"))).toEqual([])
  })
})

/** Named by id: a failing test is no place to show the held-out half. */
function everyPhrasing(): { id: string; phrasing: Phrasing }[] {
  return halves.flatMap((half) =>
    kinds.flatMap((kind) =>
      languages.flatMap((language) =>
        phrasings[half][kind][language].map((phrasing, at) => ({
          id: `${half}/${kind}/${language}/${at + 1}`,
          phrasing,
        })),
      ),
    ),
  )
}

/** What somebody says; empty for calls, whose shapes are few. */
function proseOf(phrasing: Phrasing): string {
  if (phrasing.by === "list") return phrasing.content
  return phrasing.by === "user" || phrasing.by === "assistant" ? phrasing.text : ""
}

describe("a generated session", () => {
  test("is the same for the same seed, and another for another", () => {
    const [a, b, c] = [generated(), generated(), generated({ seed: 2 })]
    expect(a).toEqual(b)
    expect(a).not.toEqual(c)
  })

  test("has every fact in a message, a dozen of each kind, spread over all cycles", () => {
    for (const { facts, cycles: written } of generated()) {
      for (const kind of kinds) expect(facts.filter((fact) => fact.kind === kind)).toHaveLength(factsOfKind)
      const ends = written.map((_, at) => written.slice(0, at + 1).flat().length)
      for (const { at, cycle } of facts) {
        expect(at).toBeGreaterThanOrEqual(ends[cycle - 2] ?? 0)
        expect(at).toBeLessThan(ends[cycle - 1]!)
      }
    }
  })

  test("hides its facts in far more than a ledger can hold", () => {
    for (const { cycles: written } of generated()) {
      expect(written).toHaveLength(cycles)
      for (const messages of written) {
        expect(tokensOf(messages)).toBeGreaterThan(35_000)
        expect(tokensOf(messages)).toBeLessThan(75_000)
      }
    }
  })

  test("has twice as much small talk as a ledger may hold, at every cycle, in what is hidden by then", () => {
    for (const { cycles: written, noise } of generated({ sessions: 8 })) {
      for (let cycle = 1; cycle <= cycles; cycle++) {
        const all = written.slice(0, cycle).flat()
        const hidden = hiddenOf(all)
        const said = noise.filter(({ at }) => at < hidden).map(({ text }) => text)
        const tokens = said.reduce((sum, text) => sum + estimateTokens(text), 0)
        expect(tokens).toBeGreaterThan(2 * budgetOf(tokensOf(all)))
      }
    }
  })

  test("says its small talk in the user's messages, and hardly a sentence of it twice", () => {
    for (const { cycles: written, noise } of generated({ sessions: 8 })) {
      const all = written.flat()
      for (const { text, at } of noise) expect(saidBy("user", [all[at]!])).toContain(text)
      const sentences = noise.flatMap(({ text }) => sentencesOf(text))
      const counts = new Map<string, number>()
      for (const sentence of sentences) counts.set(sentence, (counts.get(sentence) ?? 0) + 1)
      const once = sentences.filter((sentence) => counts.get(sentence) === 1)
      expect(once.length / sentences.length).toBeGreaterThan(0.85)
    }
  })

  test("uses every phrasing in a run of twelve", () => {
    const used = new Set(
      generated({ sessions: 12 }).flatMap(({ facts }) => facts.map(({ phrasing }) => phrasing)),
    )
    expect(used).toEqual(new Set(everyPhrasing().map(({ id }) => id)))
  })
})

/** A compaction keeps at most so much of the newest turns. */
const mostKeptTokens = 15_000

function hiddenOf(messages: readonly GeneratedMessage[]): number {
  let kept = 0
  return messages.findLastIndex((message) => {
    kept += tokensOf([message])
    return kept > mostKeptTokens
  })
}

function sentencesOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/(?<=[.?!…])\s+|(?<=[。？！])/)
    .filter((sentence) => sentence !== "")
}

describe("the check", () => {
  test("finds everything where only the facts are said, and these fit the budget", () => {
    for (const session of generated()) {
      let hidden = 0
      let historyTokens = 0
      for (const messages of session.cycles) {
        hidden += messages.length
        historyTokens += tokensOf(messages)
        const due = session.facts.filter(({ at }) => at < hidden)
        const text = due.map(
          ({ keep, outcome }) => `- ${keep.map(([word]) => word).join(" ")}${outcome ? ended[outcome] : ""}`,
        )
        expect(checkLedger(session, { text: text.join("\n"), hidden }).lost).toEqual([])
        expect(estimateTokens(text.join("\n"))).toBeLessThan(budgetOf(historyTokens))
      }
    }
  })

  test("is not content with the user's last words, nor with nothing", () => {
    for (const session of generated()) {
      const all = session.cycles.flat()
      const last = saidBy("user", all).slice(-4 * budgetOf(tokensOf(all)))
      const { due, lost } = checkLedger(session, { text: last, hidden: all.length })
      expect(lost.length / due.length).toBeGreaterThan(0.5)
      expect(checkLedger(session, { text: "", hidden: all.length }).lost).toHaveLength(due.length)
    }
  })

  test("wants how a command ended, and what belongs together near one another", () => {
    const place = { phrasing: "", cycle: 1, at: 0, source: "" }
    const command: PlantedFact = { ...place, kind: "command", keep: [["make all"]], outcome: "failed" }
    const constraint: PlantedFact = { ...place, kind: "constraint", keep: [["never"], ["lib/a"]] }
    const session = { ...generated({ sessions: 1 })[0]!, facts: [command, constraint], closed: [] }
    const lost = (text: string) => checkLedger(session, { text, hidden: 1 }).lost.map(({ kind }) => kind)
    expect(lost("- make all: exit 2\n- never touch lib/a")).toEqual([])
    expect(lost("- make all: ok\n- never touch lib/a")).toEqual(["command"])
    expect(lost("- make all-tests: exit 2\n- never touch lib/abc")).toEqual(["constraint"])
    expect(lost(`- make all failed\n- never\n${"- x\n".repeat(100)}- lib/a`)).toEqual(["constraint"])
  })

  test("counts a todo that is over and still listed as open", () => {
    const [session] = generated({ sessions: 1 })
    const hidden = session!.cycles.flat().length
    const { content } = session!.closed[0]!
    expect(checkLedger(session!, { text: `- [ ] ${content}`, hidden }).stale).toHaveLength(1)
    expect(checkLedger(session!, { text: `- ${content} (completed)`, hidden }).stale).toEqual([])
  })
})

const ended = { ok: ": ok", failed: ": failed", timeout: ": timed out" }

describe("a run", () => {
  test("goes through all cycles and gives a table, the same each time", async () => {
    const shown: string[] = []
    const recall = await evaluate({ seed: 7, sessions: 2, onSession: ({ name }) => shown.push(name) })
    expect(shown).toEqual(["open-en-1", "held-out-en-1"])
    expect(recall.spent).toHaveLength(2 * cycles)
    const printed = table(recall)
    for (const kind of kinds) expect(printed).toContain(kind)
    expect(table(await evaluate({ seed: 7, sessions: 2 }))).toBe(printed)
  })
})
