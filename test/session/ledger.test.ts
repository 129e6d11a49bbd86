import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type HistoryItem, LedgerFacts, type Part, type ToolState } from "../../src/protocol/index.ts"
import { estimateTokens, extendLedger, ledgerText } from "../../src/session/index.ts"
import { assistant, history, part, text, tool, user } from "../../src/session/samples.ts"
import { repeats, testSeed } from "../support/seed.ts"

const options = { ...testSeed("ledger"), numRuns: repeats({ test: 100, soak: 3000 }) }

const phrase = fc.constantFrom(
  "never touch src/legacy/",
  "use pnpm",
  "那就用 Redis 吧",
  "先看看日志",
  "PAY-812 first",
  "what does `npm test` say?",
  "I ran `npm test` and 3 failed.",
  "moved it to src/net/retry.ts",
  "see https://example.com/x and 3f2a1bc",
  "Which port?",
  "8443",
  "thanks",
  "Files changed:",
  "- forged",
  "```",
  "    at run (a.ts:1:2)",
)
const anyText = fc
  .array(
    fc.oneof(
      phrase,
      fc.string({ unit: "binary", maxLength: 30 }),
      fc.string({ unit: "grapheme", maxLength: 30 }),
    ),
  )
  .chain((words) =>
    fc.constantFrom(" ", ". ", "\n", "。", "，", "\u2028").map((between) => words.join(between)),
  )
const names = fc.constantFrom(
  "read",
  "edit",
  "bash",
  "Write",
  "todowrite",
  "update_plan",
  "shell",
  "webfetch",
  "odd",
)
const input = fc.oneof(
  fc.record({ filePath: anyText }),
  fc.record({ command: anyText }),
  fc.record({
    todos: fc.array(fc.record({ content: anyText, status: fc.constantFrom("pending", "completed") })),
  }),
  fc.dictionary(fc.string(), fc.jsonValue()),
)
const state = fc.oneof(
  fc.record({ input, output: anyText, exit: fc.option(fc.nat(3)) }).map(({ exit, ...fields }) => ({
    status: "completed",
    title: "",
    metadata: { exit },
    time: { start: 1, end: 2 },
    ...fields,
  })),
  fc
    .record({ input, error: anyText })
    .map((fields) => ({ status: "error", time: { start: 1, end: 2 }, ...fields })),
  fc.record({ input }).map((fields) => ({ status: "running", time: { start: 1 }, ...fields })),
)
const anyPart: fc.Arbitrary<Part> = fc.oneof(
  anyText.map((value) => text("prt_a", value)),
  fc.tuple(names, state).map(([name, value]) => tool("prt_b", value as unknown as ToolState, { tool: name })),
  fc.array(anyText, { maxLength: 4 }).map((files) => part("patch", "prt_c", { hash: "x", files })),
)
const message = fc
  .tuple(fc.boolean(), fc.array(anyPart, { maxLength: 4 }))
  .map(([isUser, parts]): [ReturnType<typeof user> | ReturnType<typeof assistant>, ...Part[]] => [
    isUser ? user("msg_u") : assistant("msg_a"),
    ...parts,
  ])
const items: fc.Arbitrary<HistoryItem[]> = fc
  .array(message, { maxLength: 12 })
  .map((list) => history(...list))
const budget = fc.oneof(fc.nat(60), fc.nat(2_000))

describe("a ledger of any history", () => {
  test("is within its budget, matches its schema, and is deterministic", () => {
    fc.assert(
      fc.property(items, items, budget, (first, second, budgetTokens) => {
        const before = extendLedger(undefined, first, { budgetTokens })
        const after = extendLedger(before, second, { budgetTokens })
        for (const facts of [before, after]) {
          expect(estimateTokens(ledgerText(facts))).toBeLessThanOrEqual(budgetTokens)
          expect(LedgerFacts.parse(JSON.parse(JSON.stringify(facts)))).toEqual(facts)
          expect(JSON.stringify(facts).isWellFormed()).toBe(true)
        }
        expect(extendLedger(before, second, { budgetTokens })).toEqual(after)
        expect(extendLedger(after, [], { budgetTokens })).toEqual(after)
      }),
      options,
    )
  })

  test("has one line for each fact, and no fact can add a line", () => {
    fc.assert(
      fc.property(items, (list) => {
        const facts = extendLedger(undefined, list, { budgetTokens: 100_000 })
        const lines = ledgerText(facts).split(/[\n\r\u2028\u2029\u0085\v\f]/)
        const entries = lines.filter((line) => line.startsWith("- "))
        expect(entries.length).toBeLessThanOrEqual(facts.facts.length)
        expect(new Set(lines).size - new Set(entries).size).toBe(lines.length - entries.length)
        expect(facts.dropped).toEqual({})
      }),
      options,
    )
  })

  test("is the same after one compaction or two, while there is room", () => {
    fc.assert(
      fc.property(items, items, (first, second) => {
        const room = { budgetTokens: 100_000 }
        const once = extendLedger(undefined, [...first, ...second], room)
        expect(extendLedger(extendLedger(undefined, first, room), second, room)).toEqual(once)
      }),
      options,
    )
  })

  test("counts every fact that it drops", () => {
    fc.assert(
      fc.property(items, budget, (list, budgetTokens) => {
        const all = extendLedger(undefined, list, { budgetTokens: 100_000 })
        const some = extendLedger(undefined, list, { budgetTokens })
        for (const kind of ["file", "command", "said", "todo", "identifier"] as const) {
          const count = (facts: LedgerFacts) => facts.facts.filter((fact) => fact.kind === kind).length
          expect(count(some) + (some.dropped[kind] ?? 0)).toBe(count(all))
        }
      }),
      options,
    )
  })
})

describe("a hostile history", () => {
  const budgetTokens = 2_000
  const mebibyte = 1 << 20
  const bad: [name: string, value: string][] = [
    ["one word", "a".repeat(mebibyte)],
    ["underscores", "a_".repeat(mebibyte / 2)],
    ["dots and slashes", "./".repeat(mebibyte / 2)],
    ["commas", ",".repeat(mebibyte)],
    ["backticks", "`".repeat(mebibyte)],
    ["negations", "not aaaa aaaa aaaa aaaa ".repeat(mebibyte / 24)],
    ["quotes", `"'`.repeat(mebibyte / 2)],
    ["brackets", "([{".repeat(mebibyte / 3)],
    ["line breaks", "\n".repeat(mebibyte)],
    ["Chinese commas", "先，再".repeat(mebibyte / 4)],
    ["lone surrogates", "\ud800".repeat(mebibyte / 2)],
  ]

  test.each(bad)("of a mebibyte of %s gives a ledger within its budget", (_, value) => {
    const list = history(
      [user("msg_a"), text("prt_a", value), text("prt_b", value.replaceAll(/(.{80})/g, "$1\n"))],
      [
        assistant("msg_b"),
        text("prt_c", value),
        tool(
          "prt_d",
          {
            status: "completed",
            input: { command: value },
            output: value,
            title: "",
            metadata: {},
            time: { start: 1, end: 2 },
          },
          { tool: "bash" },
        ),
      ],
    )
    expect(estimateTokens(ledgerText(extendLedger(undefined, list, { budgetTokens })))).toBeLessThanOrEqual(
      budgetTokens,
    )
  })

  test("of a million paths keeps some and counts the others", () => {
    const files = Array.from({ length: 1_000_000 }, (_, at) => `src/generated/file-${at}.ts`)
    const facts = extendLedger(
      undefined,
      history([assistant("msg_a"), part("patch", "prt_a", { hash: "x", files })]),
      {
        budgetTokens,
      },
    )
    expect(facts.facts.length + facts.dropped.file!).toBe(1_000_000)
    expect(facts.facts.length).toBeGreaterThan(100)
  })
})
