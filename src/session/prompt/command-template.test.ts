import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type ExpandedTemplate, expandTemplate } from "./command-template.ts"
import { referencesIn } from "./references.ts"

const fixedTexts = ({ text, fixed }: ExpandedTemplate) =>
  fixed.map(({ start, end }) => text.slice(start, end))

describe("the text of a command", () => {
  test.each([
    ["Fix $ARGUMENTS now.", "the big  bug ", "Fix the big  bug  now."],
    ["Move $1 to $2.", "a.ts b.ts", "Move a.ts to b.ts."],
    ["Move $1 to $2.", "a.ts b.ts and c.ts", "Move a.ts to b.ts and c.ts."],
    ["Say $2, then $1.", "one two three", "Say two three, then one."],
    ["Say $2 and $2.", "one two three", "Say two three and two three."],
    ["Move $1 to $2.", "a.ts", "Move a.ts to ."],
    ["Call $1: $2", `"my app" 'it is "here"'`, `Call my app: it is "here"`],
    ["Call $1: $2", `"my app" it's "all of" it`, `Call my app: it's all of it`],
    ["First $1, then $2", "don't 'stop", "First don't, then 'stop"],
    ["First $1, then $2", '"" x', "First , then x"],
    ["All of $ARGUMENTS, first $1, rest $2", "a 'b c' d", "All of a 'b c' d, first a, rest b c d"],
    ["$1 of $10", "a b c d e f g h i j k", "a of j k"],
    ["第$1章，$ARGUMENTS。", "三 四", "第三 四章，三 四。"],
    ["It costs $100 and $0, $ARGUMENTS_MAX", "", "It costs $100 and $0, $ARGUMENTS_MAX"],
    ["$$1 $&", "x", "$x $&"],
    ["Review it.", "src only", "Review it.\n\nsrc only"],
    ["Review it.", "  \n", "Review it."],
    ["Review it.", "", "Review it."],
    ["", "only this", "only this"],
    ["", "", ""],
  ])("%j with %j", (template, args, expected) => {
    expect(expandTemplate(template, args).text).toBe(expected)
  })

  test("placeholders in arguments stay as they are", () => {
    expect(expandTemplate("Do $1, then $2: $ARGUMENTS", "$2 $ARGUMENTS $1").text).toBe(
      "Do $2, then $ARGUMENTS $1: $2 $ARGUMENTS $1",
    )
    expect(expandTemplate("Do it.", "$1 $ARGUMENTS").text).toBe("Do it.\n\n$1 $ARGUMENTS")
    expect(expandTemplate("Do $1", "$& $' $$").text).toBe("Do $& $' $$")
  })

  test("a template that would become too long is refused", () => {
    const many = "$ARGUMENTS ".repeat(20_000)
    expect(() => expandTemplate(many, "x".repeat(100_000))).toThrow("Give it shorter arguments")
    expect(expandTemplate(many, "x").text).toHaveLength(40_000)
    expect(expandTemplate("$1".repeat(130_000), "x").text).toHaveLength(130_000)
  })
})

describe("references of the template itself", () => {
  test.each([
    ["Look at @a.ts and [[b.ts]]: !`git status`", "", ["@a.ts", "[[b.ts]]", "!`git status`"]],
    ["$ARGUMENTS: see @a.ts, $1 !`ls`.", "long words here", ["@a.ts", "!`ls`"]],
    ["See @a.ts:$1", "5", ["@a.ts"]],
    ["See @a.ts", "and @b.ts", ["@a.ts"]],
    ["[[a.ts]]$1", "b", ["[[a.ts]]"]],
  ])("%j with %j", (template, args, expected) => {
    expect(fixedTexts(expandTemplate(template, args))).toEqual(expected)
  })

  test.each([
    ["!`cat $1`", "/etc/passwd"],
    ["!`cat $ARGUMENTS`", "a"],
    ["!`cat $1 b`", ""],
    ["[[$1]]", "a"],
    ["[[src/$1.ts]]", "a"],
    ["@$1", "a"],
    ["@src/$1", "../../.env"],
    ["@src/$1", ""],
    ["@src.$1", "ts"],
    ["@src.$1", "."],
    ["$1@a", ""],
    ["$1`rm -rf x`", "!"],
    ["[$1a]]", "["],
    ["Look.", "@a !`ls` [[b]]"],
    ["Look at $1", "@a"],
    ["`@a`$1", "x"],
    ["```\n@a\n```\n$1", "x"],
  ])("%j with %j has none", (template, args) => {
    expect(expandTemplate(template, args).fixed).toEqual([])
  })

  test("the same reference in the arguments is at another span and is not fixed", () => {
    const { text, fixed } = expandTemplate("$1 !`ls` $2", "!`ls` x !`ls`")
    expect(text).toBe("!`ls` !`ls` x !`ls`")
    expect(fixed).toEqual([{ start: 6, end: 11 }])
    expect(expandTemplate("!`ls`", "!`ls`").fixed).toEqual([{ start: 0, end: 5 }])
  })

  test("arguments can put a reference into code, where it has no effect, and no other reference becomes fixed", () => {
    expect(expandTemplate("$1 @a.ts `x`", "`").fixed).toEqual([])
    expect(expandTemplate("$ARGUMENTS\n@a.ts", "```\n").fixed).toEqual([])
    expect(fixedTexts(expandTemplate("$1 !`ls` !`pwd`", "!`rm ")).every((one) => one === "!`pwd`")).toBe(true)
  })
})

type Piece = { own: string } | { slot: string }

const shards = [
  ...["@", "a.ts", "[[", "]]", "[", "]", "!", "`", "```", "~~~", "\n", " ", "/", ".", "-", "x"],
  ...["@a.ts", "[[b]]", "!`ls`", "!`rm -rf /`", "\\", "é", "文"],
]
const own = fc.oneof(
  fc.constantFrom("@a.ts", "[[b]]", "!`ls`", "@explore", " ", "\n"),
  fc.constantFrom(...shards),
)
const slots = ["$1", "$2", "$ARGUMENTS"]
const template: fc.Arbitrary<Piece[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: own.map((text) => ({ own: text })) },
    { weight: 1, arbitrary: fc.constantFrom(...slots).map((slot) => ({ slot })) },
  ),
  { maxLength: 14 },
)
const hostile = fc.oneof(
  fc.array(fc.constantFrom(...shards, ...slots, '"', "'"), { maxLength: 14 }).map((all) => all.join("")),
  fc.string({ unit: "binary", maxLength: 20 }),
)

/** The text of the pieces with these arguments, and for each character whether it comes from the template. */
function written(pieces: readonly Piece[], args: string): { text: string; owned: boolean[] } {
  const slotted = pieces.flatMap((piece) => ("slot" in piece ? [piece.slot] : []))
  const parts: Piece[] = slotted.length > 0 ? [...pieces] : [...pieces, { slot: "after" }]
  let text = ""
  const owned: boolean[] = []
  for (const piece of parts) {
    const value = "own" in piece ? piece.own : argumentFor(piece.slot)
    text += value
    for (let index = 0; index < value.length; index++) owned.push("own" in piece)
  }
  return { text, owned }

  // Each value is expanded alone, with no text around it that the arguments could join.
  function argumentFor(slot: string): string {
    if (slot === "after") return args.trim() === "" ? "" : (text === "" ? "" : "\n\n") + args
    const both = slotted.includes("$2") ? "$1\0$2" : "$1\0"
    const [first, second] = expandTemplate(both, args.replaceAll("\0", "_")).text.split("\0")
    return slot === "$ARGUMENTS" ? args : slot === "$1" ? first! : second!
  }
}

describe("whatever the arguments are", () => {
  test("a fixed span is the template's own text, and refers to the same thing as without arguments", () => {
    fc.assert(
      fc.property(template, hostile, (pieces, typed) => {
        const args = typed.replaceAll("\0", "_")
        const source = pieces.map((piece) => ("own" in piece ? piece.own : piece.slot)).join("")
        // Neighbouring pieces may form a placeholder together. Such a case is skipped.
        fc.pre(!/\$\d\d|ARGUMENTS\w/.test(source))
        const expanded = expandTemplate(source, args)
        const { text, owned } = written(pieces, args)
        expect(expanded.text).toBe(text)
        const probe = pieces.map((piece) => ("own" in piece ? piece.own : "x")).join("")
        const meant = referencesIn(probe).map((reference) => reference.text)
        const found = referencesIn(text).map(({ start, end }) => `${start}-${end}`)
        for (const { start, end } of expanded.fixed) {
          expect(owned.slice(start, end)).not.toContain(false)
          expect(found).toContain(`${start}-${end}`)
        }
        expect(isSubsequence(fixedTexts(expanded), meant)).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })

  test("words and paths do not change which references are fixed", () => {
    const harmless = fc.array(fc.stringMatching(/^[a-z][a-z0-9./_-]{0,9}$/), { minLength: 2, maxLength: 5 })
    fc.assert(
      fc.property(template, harmless, (pieces, words) => {
        const source = pieces.map((piece) => ("own" in piece ? piece.own : piece.slot)).join("")
        expect(fixedTexts(expandTemplate(source, words.join(" ")))).toEqual(
          fixedTexts(expandTemplate(source, "x x")),
        )
      }),
      { numRuns: 1000 },
    )
  })
})

function isSubsequence(some: readonly string[], all: readonly string[]): boolean {
  let at = 0
  for (const one of some) {
    at = all.indexOf(one, at) + 1
    if (at === 0) return false
  }
  return true
}
