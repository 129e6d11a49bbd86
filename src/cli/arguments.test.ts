import { describe, expect, test } from "vitest"
import { StemmaError } from "../protocol/index.ts"
import { command, helpOf, parseCommand, wholeNumber } from "./arguments.ts"

const spec = command({
  name: "brew",
  operands: "TEA",
  operandsMax: 1,
  about: "Makes tea.",
  options: {
    cups: { type: "string", short: "c", value: "N", help: "how many" },
    iced: { type: "boolean", help: "cold" },
  },
})

function refusal(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (StemmaError.is(error, "invalid")) return error.message
  }
  throw new Error("It was not refused.")
}

describe("the arguments of a command", () => {
  test("are its options and operands, in any order", () => {
    const parsed = parseCommand(spec, ["oolong", "-c", "2", "--iced"])
    expect(parsed).toEqual({ values: { cups: "2", iced: true }, operands: ["oolong"] })
    expect(parseCommand(spec, ["--", "--iced"])).toEqual({ values: {}, operands: ["--iced"] })
  })

  test("an unknown option is refused with a list of the known ones", () => {
    expect(refusal(() => parseCommand(spec, ["--milk"]))).toBe(
      "stemma brew has no option --milk. Its options are --cups, --iced, --help. See stemma brew --help.",
    )
  })

  test.each([
    [["--cups"], /argument missing/],
    [["--iced=yes"], /does not take an argument/],
    [["a", "b"], /has one argument too many: "b"/],
  ])("%j is refused with an explanation", (args, sentence) => {
    const message = refusal(() => parseCommand(spec, args))
    expect(message).toMatch(sentence)
    expect(message).toMatch(/See stemma brew --help\.$/)
    expect(message).not.toContain("\n")
  })

  test("help lists all options", () => {
    expect(parseCommand(spec, ["oolong", "-h"])).toBeUndefined()
    const help = helpOf(spec)
    for (const text of ["Usage: stemma brew TEA", "-c, --cups N", "--iced", "Makes tea."])
      expect(help).toContain(text)
  })

  test.each(["-1", "1e3", "0x10", "", "101", " 5", "4096abc"])("%j is not a number from 1 to 100", (text) => {
    expect(refusal(() => wholeNumber(text, { option: "cups", min: 1, max: 100 }))).toContain("--cups takes")
  })
})
