import { describe, expect, test } from "vitest"
import { answerTo, questionAtEnd } from "./answers.ts"

describe("a question", () => {
  test.each([
    [
      "How should we lock?\n1. A mutex.\n2. Row locks.\n\nWhich one?",
      "How should we lock? 1. A mutex. 2. Row locks. Which one?",
    ],
    ["What about removal?\n1) hard\n2) soft\nYour call.", "What about removal? 1) hard. 2) soft. Your call."],
    [
      "I can 1. push to main, or 2. open a branch. Which one?",
      "I can 1. push to main, or 2. open a branch. Which one?",
    ],
    ["Where do the jobs go?\n- Redis\n- a table", "Where do the jobs go? - Redis. - a table"],
    [
      "We could publish directly. Or we use an outbox. Which do you prefer?",
      "We could publish directly. Or we use an outbox. Which do you prefer?",
    ],
    ["怎么加锁？\n1. 互斥量。\n2. 行锁。\n选哪个？", "怎么加锁？ 1. 互斥量。 2. 行锁。 选哪个？"],
    ["删除怎么处理？\n1、直接删\n2、软删除\n你定。", "删除怎么处理？ 1、直接删. 2、软删除. 你定。"],
    ["可以直接发。也可以先写发件箱。你倾向哪种？", "可以直接发。 也可以先写发件箱。 你倾向哪种？"],
    ["There are two constants here. Which port should the proxy use?", "Which port should the proxy use?"],
  ])("at the end of %j is %j", (text, asked) => {
    expect(questionAtEnd(text)).toBe(asked)
  })

  test.each(["Done.\n1. moved a\n2. moved b", "Shall I go on?", "All tests pass.", ""])(
    "is not in %j",
    (text) => {
      expect(questionAtEnd(text)).toBeUndefined()
    },
  )
})

test.each([
  "2",
  "2nd",
  "the second one",
  "option 2 please",
  "the latter",
  "B",
  "第二个",
  "选二",
  "后者吧",
  "2 吧",
])("the answer %j is kept with its question", (text) => {
  const answer = answerTo("1. a 2. b. Which one?", { text, rank: 0 })
  expect(answer?.text).toBe(`${text} (asked: 1. a 2. b. Which one?)`)
  expect(answer?.rank).toBeGreaterThan(60)
})
