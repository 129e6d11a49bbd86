import fc from "fast-check"
import { expect, test } from "vitest"
import { context, visibleItems } from "../../src/session/index.ts"
import { contextProblems } from "../support/context-problems.ts"
import { drawFrom } from "../support/draw.ts"
import { HistoryStory, hiddenMarks, marksOf } from "../support/history-story.ts"
import { testSeed } from "../support/seed.ts"

const seed = testSeed("contexts")
const numbers = fc.noShrink(fc.array(fc.nat(9_999), { minLength: 24, maxLength: 24 }))
const story = fc.array(numbers, { maxLength: 40, size: "max" })

function historyOf(steps: readonly (readonly number[])[]): HistoryStory {
  const history = new HistoryStory()
  for (const step of steps) history.grow(drawFrom(step))
  return history
}

test("a context of any history is valid, and contains what is kept and nothing that is hidden", () => {
  fc.assert(
    fc.property(story, numbers, (steps, drawn) => {
      const draw = drawFrom(drawn)
      const history = historyOf(steps)
      const { items } = history
      const mark = draw.chance(40) ? history.cut(draw) : undefined
      const maxHistory = draw.chance(40) ? 1 + draw.below(12) : undefined
      const first = draw.chance(40) ? items.find(({ message }) => message.role === "user") : undefined
      const visible = visibleItems(items, mark)
      const isFirstShown =
        first !== undefined && visible.some(({ message }) => message.id === first.message.id)
      const messages = context(items, {
        ...(mark && { mark }),
        ...(maxHistory !== undefined && { maxHistory }),
        ...(isFirstShown && { first }),
      })
      expect(contextProblems(messages)).toEqual([])
      for (const { content } of messages) expect(content.length).toBeGreaterThan(0)

      const shown = marksOf(messages)
      expect([...shown.difference(marksOf(visible))], "hidden by the revert mark").toEqual([])
      const { hidden, pruned } = hiddenMarks(visible)
      const ofFirst = isFirstShown ? marksOf(first) : new Set<string>()
      expect([...shown.intersection(new Set(hidden)).difference(ofFirst)], "compacted").toEqual([])
      expect([...shown.intersection(new Set(pruned))], "pruned").toEqual([])
      if (isFirstShown) expect([...marksOfPrompt(first).difference(shown)], "the first prompt").toEqual([])
      const last = visible.findLast(({ message }) => message.role === "user")
      const isHidden = last !== undefined && [...marksOf(last)].some((one) => hidden.includes(one))
      if (last && !isHidden) expect([...marksOfPrompt(last).difference(shown)], "the last prompt").toEqual([])
    }),
    { ...seed, numRuns: 1500 },
  )
})

test("without maxHistory and revert, every call and result that is not compacted or pruned is in the context", () => {
  fc.assert(
    fc.property(story, (steps) => {
      const { items } = historyOf(steps)
      const { hidden, pruned } = hiddenMarks(items)
      const calls = items.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool"))
      const missing = marksOf(calls).difference(marksOf(context(items)))
      expect([...missing.difference(new Set([...hidden, ...pruned]))]).toEqual([])
    }),
    { ...seed, numRuns: 500 },
  )
})

/** The marks in the text of a prompt. */
function marksOfPrompt({ parts }: { parts: readonly { type: string; ignored?: boolean }[] }): Set<string> {
  return marksOf(parts.filter(({ type, ignored }) => type === "text" && !ignored))
}
