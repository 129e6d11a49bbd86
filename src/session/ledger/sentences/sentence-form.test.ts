import { expect, test } from "vitest"
import { reportsChange } from "../rank/rank-assistant.ts"
import { rankUserSentence } from "../rank/rank-user.ts"
import { formGain, formLoss } from "./sentence-form.ts"
import { wordPattern } from "./word-patterns.ts"

test.each([
  ["the proxy was slow again this morning"],
  ["网关中午又慢了"],
  ["my editor eats half of the keys"],
  ["the mapper goes through the list and … hm"],
  ["所以解析器跑了两遍"],
])("%s ranks lower by its form", (sentence) => {
  expect(formLoss(sentence)).toBeGreaterThan(0)
})

test.each([
  ["we go for the smaller parser"],
  ["tabs, not spaces"],
  ["the certificates are due before Thursday, by Tuesday we have new ones"],
  ["图表就它了"],
  ["不用轮询，用推送"],
])("%s ranks higher by its form", (sentence) => {
  expect(formGain(sentence)).toBeGreaterThan(0)
  expect(formLoss(sentence)).toBe(0)
})

test.each([
  ["I did not change anything in src/a.ts, I only read it"],
  ["If you wanted to change that, src/a.ts would be the place"],
  ["`src/a.ts` 我只是读了一下，没有改动"],
  ["如果要改，应该是在 src/a.ts"],
])("%s reports no change", (sentence) => {
  expect(reportsChange(sentence)).toBe(false)
})

test.each([["src/a.ts now rejects empty names"], ["src/a.ts 里的循环收紧了，其余没动"]])(
  "%s reports a change",
  (sentence) => {
    expect(reportsChange(sentence)).toBe(true)
  },
)

test("a report of a command that begins like a question is not a question", () => {
  expect(rankUserSentence("did make check just now, works")).toMatchObject({ states: true })
  expect(rankUserSentence("did make check work?")).toMatchObject({ states: false })
})

test("an entry of a word list may contain a quantifier", () => {
  const found = wordPattern({ english: "so .{1,9} and on", chinese: "先.{1,9}再" })
  expect(found.test("so far and on")).toBe(true)
  expect(found.test("先备份再迁移")).toBe(true)
  expect(found.test("先.{1")).toBe(false)
})
