import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { StemmaError } from "../../src/protocol/index.ts"
import { foldText } from "../../src/session/search/fold.ts"
import {
  type CandidateToken,
  candidateTokens,
  ftsExpression,
  matchText,
  parseQuery,
  type SearchTerms,
  tokenize,
} from "../../src/session/search/index.ts"
import { repeats, testSeed } from "../support/seed.ts"

const options = { ...testSeed("search"), numRuns: repeats({ test: 500, soak: 15_000 }) }

/** A piece of text, and queries that must find it anywhere in a text. */
interface Fragment {
  text: string
  queries: string[]
}

const latinWord = fc.string({ unit: fc.constantFrom(..."aeimnrstxz"), minLength: 2, maxLength: 7 })
const foreignWord = fc.constantFrom(
  ..."İstanbul ılık Straße GROẞ ﬀ οδος ΟΔΟΣ ſſ µm naïve Ǆ naïve слово ＡＰＩ ０１ שלום مرحبا नमस्ते 𐐀𐐁𐐨 K 42 x1 Ⅷ".split(
    " ",
  ),
  "e\u0301te\u0301",
  "x".repeat(70),
  `y${"𐐀".repeat(40)}`,
  `${"𐐨".repeat(40)}aB`,
  "aB".repeat(40),
)
const denseRun = fc.string({
  unit: fc.constantFrom(..."搜索引擎的设计中文々一二ーカタひらが한글검색ไทย𠀀𠀁𪚥〇"),
  minLength: 1,
  maxLength: 6,
})

function prefixesOf(word: string): string[] {
  const characters = [...word]
  return [1, 2, characters.length].map((count) => `${characters.slice(0, count).join("")}*`)
}

function capital(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1)
}

const word: fc.Arbitrary<Fragment> = fc
  .oneof(latinWord, foreignWord)
  .map((text) => ({ text, queries: [text, foldText(text), `"${text}"`, ...prefixesOf(text)] }))

const name: fc.Arbitrary<Fragment> = fc
  .tuple(fc.array(latinWord, { minLength: 2, maxLength: 4 }), fc.constantFrom("camel", "Pascal", "HTTP"))
  .map(([humps, style]) => {
    const [first, ...others] = humps as [string, ...string[]]
    const head = style === "camel" ? first : style === "HTTP" ? first.toUpperCase() : capital(first)
    const text = head + others.map(capital).join("")
    return {
      text,
      queries: [text, text.toUpperCase(), ...humps, ...humps.flatMap(prefixesOf), ...prefixesOf(text)],
    }
  })

const path: fc.Arbitrary<Fragment> = fc
  .tuple(
    fc.array(fc.oneof(word, name), { minLength: 2, maxLength: 4 }),
    fc.constantFrom(..."./\\-_:@#", "::", "->", "'"),
  )
  .map(([steps, between]) => {
    const text = steps.map((step) => step.text).join(between)
    const tail = steps
      .slice(1)
      .map((step) => step.text)
      .join(between)
    return {
      text,
      queries: [text, tail, `"${text}"`, ...prefixesOf(text), ...steps.flatMap((step) => step.queries)],
    }
  })

const dense: fc.Arbitrary<Fragment> = denseRun.map((text) => {
  const characters = [...text]
  const pairs = characters.slice(1).map((character, i) => characters[i]! + character)
  return { text, queries: [text, `"${text}"`, ...characters, ...pairs, ...prefixesOf(text)] }
})

const touching: fc.Arbitrary<Fragment> = fc
  .tuple(dense, fc.oneof(word, name), fc.constantFrom("", " "), fc.boolean())
  .map(([run, touched, gap, runFirst]) => {
    const [left, right] = runFirst ? [run, touched] : [touched, run]
    const written = (between: string) => left.text + between + right.text
    return {
      text: written(gap),
      queries: [written(""), `"${written(" ")}"`, `${written("")}*`, ...run.queries, ...touched.queries],
    }
  })

const noise: fc.Arbitrary<Fragment> = fc
  .oneof(
    fc.constantFrom("🎉", "👩‍👩‍👧", "❤️", "->", "{", "…", "•"),
    fc.string({ unit: fc.constantFrom(..."(){}=,;!?+*\"'") }),
  )
  .map((text) => ({ text, queries: [] }))

const sample = fc
  .tuple(
    fc.array(fc.oneof(word, name, path, dense, touching, noise), { minLength: 1, maxLength: 8 }),
    fc.constantFrom(" ", "\n", ", ", " \t\u3000"),
  )
  .map(([fragments, between]) => ({
    text: fragments.map((fragment) => fragment.text).join(between),
    queries: [...phrase(fragments, between), ...fragments.flatMap((fragment) => fragment.queries)],
  }))

function phrase([first, second]: Fragment[], between: string): string[] {
  const stands = first?.queries.length && second?.queries.length && between.trim() === ""
  return stands ? [`"${first.text} ${second.text}"`, `"${first.text}\n ${second.text}"*`] : []
}

/** A query cut out of any text: most find something, and no match may be missed. */
const cutting = fc
  .tuple(
    fc.oneof(
      sample.map(({ text }) => text),
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.string({ unit: "grapheme", maxLength: 40 }),
    ),
    fc.nat(),
    fc.nat(),
    fc.constantFrom(["", ""], ['"', '"'], ["", "*"], ['"', '"*']),
  )
  .map(([text, a, b, [open, close]]) => {
    const characters = [...text]
    const from = a % (characters.length + 1)
    const cut = characters.slice(from, from + (b % 12) + 1).join("")
    return { text, query: open + cut + close }
  })

function parsed(query: string): SearchTerms | undefined {
  try {
    return parseQuery(query)
  } catch (error) {
    if (StemmaError.is(error, "invalid")) return undefined
    throw error
  }
}

function hasToken(tokens: readonly string[], { token, prefix }: CandidateToken): boolean {
  return tokens.some((other) => (prefix ? other.startsWith(token) : other === token))
}

function expectCandidate(terms: SearchTerms, text: string): void {
  const tokens = tokenize(text)
  for (const candidate of candidateTokens(terms)) {
    expect(hasToken(tokens, candidate), `${JSON.stringify(candidate)} of ${tokens.join(" ")}`).toBe(true)
  }
}

function expectMarks(terms: SearchTerms, text: string): void {
  const { marks } = matchText(terms, text)!
  const unspaced = (part: string) => foldText(part).replace(/\s+/gu, "")
  const wanted = terms.map((term) => unspaced(term.text))
  let last = 0
  for (const [start, end] of marks) {
    expect(start).toBeGreaterThanOrEqual(last)
    expect(wanted).toContain(unspaced(text.slice(start, end)))
    last = end
  }
}

describe("search", () => {
  test("finds every word, camel-case part, path, prefix and any two Chinese, Japanese or Korean characters of a text", () => {
    fc.assert(
      fc.property(sample, ({ text, queries }) => {
        for (const query of queries) {
          const terms = parseQuery(query)
          expect(matchText(terms, text), query).toBeDefined()
          expectMarks(terms, text)
          expectCandidate(terms, text)
        }
      }),
      { ...options, numRuns: repeats({ test: 170, soak: 5000 }) },
    )
  })

  test("every text that matches a query is among its candidates, and the marks cover the queried words", () => {
    let matched = 0
    fc.assert(
      fc.property(cutting, cutting, (one, other) => {
        for (const text of [one.text, other.text, one.text + other.text]) {
          for (const query of [one.query, other.query, `${one.query} ${other.query}`]) {
            const terms = parsed(query)
            if (!terms || !matchText(terms, text)) continue
            matched++
            expectMarks(terms, text)
            expectCandidate(terms, text)
          }
        }
      }),
      options,
    )
    expect(matched).toBeGreaterThan(options.numRuns / 2)
  })

  test("FTS5 returns exactly the candidates of the tokens, and every match is among them", () => {
    fc.assert(
      fc.property(
        fc.array(sample, { minLength: 2, maxLength: 12 }),
        fc.array(cutting, { minLength: 1, maxLength: 12 }),
        (samples, cuttings) => {
          using database = new DatabaseSync(":memory:")
          database.exec(
            "CREATE VIRTUAL TABLE f USING fts5(t, content='', detail=none, columnsize=0, tokenize='ascii')",
          )
          const texts = [...samples, ...cuttings].map(({ text }) => text.replaceAll("\0", "").toWellFormed())
          const insert = database.prepare("INSERT INTO f(rowid, t) VALUES (?, ?)")
          for (const [i, text] of texts.entries()) insert.run(i, tokenize(text).join(" "))
          const select = database.prepare("SELECT rowid FROM f WHERE f MATCH ? ORDER BY rowid")
          const queries = [
            ...samples.flatMap((one) => one.queries.slice(0, 8)),
            ...cuttings.map((one) => one.query),
          ]
          for (const query of queries) {
            const terms = parsed(query)
            if (!terms) continue
            const candidates = candidateTokens(terms)
            const found = select.all(ftsExpression(candidates)).map((row) => Number(row.rowid))
            const expected = [...texts.keys()].filter((i) =>
              candidates.every((candidate) => hasToken(tokenize(texts[i]!), candidate)),
            )
            expect(found, query).toEqual(expected)
            const matching = [...texts.keys()].filter((i) => matchText(terms, texts[i]!))
            expect(found, query).toEqual(expect.arrayContaining(matching))
          }
        },
      ),
      { ...options, numRuns: repeats({ test: 25, soak: 600 }) },
    )
  })
})
