import { expect, test } from "vitest"
import { cutText, limitOutput, outputBytesMax, pointerNotice } from "./output.ts"

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`).join("\n")

test("an output within the limits stays unchanged", () => {
  expect(limitOutput("")).toEqual({ output: "", cut: false, lines: 0, bytes: 0 })
  expect(limitOutput("one\ntwo")).toEqual({ output: "one\ntwo", cut: false, lines: 2, bytes: 7 })
  expect(limitOutput("one\ntwo\n")).toEqual({ output: "one\ntwo\n", cut: false, lines: 2, bytes: 8 })
  expect(limitOutput(lines(2_000)).cut).toBe(false)
  expect(limitOutput(`${lines(2_000)}\n`).cut).toBe(false)
  expect(limitOutput("x".repeat(outputBytesMax)).cut).toBe(false)
})

test("line 2,001 and all after it are cut, and counted", () => {
  const limited = limitOutput(lines(2_345))
  expect(limited).toMatchObject({ cut: true, lines: 2_345, bytes: lines(2_345).length })
  expect(limited.output).toBe(lines(2_000))
})

test("more than 50 KiB are cut after a whole line", () => {
  const text = `${"x".repeat(99)}\n`.repeat(1_000)
  const { output, cut } = limitOutput(text)
  expect(cut).toBe(true)
  expect(output.length).toBeLessThanOrEqual(outputBytesMax)
  expect(output.length).toBeGreaterThan(outputBytesMax - 100)
  expect(text.startsWith(`${output}\n`)).toBe(true)
})

test.each(["é", "字", "😀", "a😀", "ab😀"])("one long line of %s is cut between characters", (character) => {
  const text = character.repeat(40_000)
  const { output, cut } = limitOutput(text)
  expect(cut).toBe(true)
  expect(output.isWellFormed()).toBe(true)
  expect(text.startsWith(output)).toBe(true)
  const bytes = Buffer.byteLength(output)
  expect(bytes).toBeLessThanOrEqual(outputBytesMax)
  expect(bytes).toBeGreaterThan(outputBytesMax - 4)
})

test("a short first line before a very long one is not all that is kept", () => {
  expect(limitOutput(`ok\n${"x".repeat(100_000)}`).output.length).toBe(outputBytesMax)
})

test("the notice names the blob and the tool that pages through it", () => {
  const notice = pointerNotice({ hash: "ab".repeat(32), lines: 5_000, bytes: 70_000 })
  expect(notice).toContain(`"blob:${"ab".repeat(32)}"`)
  expect(notice).toMatch(/5000 lines.*70000 bytes.*read tool/s)
})

test("a text is never cut inside a surrogate pair", () => {
  expect(cutText("a😀b", 2)).toBe("a")
  expect(cutText("a😀b", 3)).toBe("a😀")
  expect(cutText("abc", 3)).toBe("abc")
})
