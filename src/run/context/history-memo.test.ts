import { expect, test } from "vitest"
import type { HistoryItem, Part } from "../../protocol/index.ts"
import { context, estimateContextTokens } from "../../session/index.ts"
import { assistant, completed, part, text, tool, user } from "../../session/samples.ts"
import type { Store } from "../../stores/store.ts"
import { HistoryMemo } from "./history-memo.ts"

function item(position: number, fields: { sealed?: boolean; parts?: Part[] } = {}): HistoryItem {
  const id = `msg_${position}`
  const { sealed = true, parts = [text(`prt_${position}`, `Message ${position}.`)] } = fields
  return {
    position,
    version: position,
    sealed,
    message: position % 2 === 0 ? user(id) : assistant(id),
    parts,
  }
}

function memoOf(items: readonly HistoryItem[]): HistoryMemo {
  const memo = new HistoryMemo()
  for (const one of items) memo.add(one)
  return memo
}

test.each([undefined, 1, 4, 5, 100])(
  "the memo's context equals a newly built one, with maxHistory %s",
  (maxHistory) => {
    const options = { ...(maxHistory !== undefined && { maxHistory }) }
    const items = Array.from({ length: 9 }, (_, position) => item(position))
    for (let count = 0; count <= items.length; count++) {
      const some = items.slice(0, count)
      expect(memoOf(some).context(options)).toEqual(context(some, options))
    }
  },
)

test("the memo returns the same message objects again after an answer is opened and sealed", () => {
  const memo = memoOf([item(0), item(1), item(2)])
  memo.add(item(3, { sealed: false, parts: [] }))
  const before = memo.context({})
  memo.replaceLast(item(3))
  memo.add(item(4))
  memo.add(item(5, { sealed: false, parts: [] }))
  const after = memo.context({})
  expect(before).toHaveLength(3)
  expect(after).toHaveLength(5)
  for (const [index, message] of before.entries()) expect(after[index]).toBe(message)
})

test("the context begins with a user message even if the first prompt in it has no parts", () => {
  const items = [item(0), item(1), item(2, { parts: [] }), item(3), item(4)]
  const shown = memoOf(items).context({ maxHistory: 3 })
  expect(shown).toEqual(context(items, { maxHistory: 3 }))
  expect(shown[0]!.role).toBe("user")
})

test.each([undefined, 1, 2, 4, 100])(
  "the memo keeps the first prompt as a newly built context does, with maxHistory %s",
  async (maxHistory) => {
    const options = { ...(maxHistory !== undefined && { maxHistory }) }
    const items = Array.from({ length: 9 }, (_, position) => item(position))
    const fields = { auto: true, summary: "So far.", firstKeptEntryId: "msg_4" }
    const summary = item(7, { parts: [part("compaction", "prt_7", fields)] })
    for (const history of [items, items.with(7, summary)]) {
      for (let count = 1; count <= history.length; count++) {
        const some = history.slice(0, count)
        const memo = memoOf(some)
        await memo.readFirst({ history: async () => ({ items: some }) } as unknown as Store, "ses_1")
        const shown = memo.shown({ ...options, keepsFirst: true })
        expect(shown.messages).toEqual(context(some, { ...options, first: some[0]! }))
        expect(shown.tokens).toBe(shown.messages.reduce((sum, one) => sum + estimateContextTokens(one), 0))
      }
    }
  },
)

test("the memo builds the context once while an open message hides tool output", () => {
  const call = tool("prt_call", completed("A long output."))
  const memo = memoOf([item(0), item(1, { parts: [call] }), item(2)])
  const prune = { time: 1, parts: ["prt_call"] }
  memo.add(item(3, { sealed: false, parts: [part("step-start", "prt_3", { prune })] }))
  const hidden = memo.context({})
  expect(JSON.stringify(hidden)).not.toContain("A long output.")
  const again = memo.context({})
  for (const [index, message] of hidden.entries()) expect(again[index]).toBe(message)
  memo.replaceLast(item(3, { sealed: false, parts: [] }))
  expect(JSON.stringify(memo.context({}))).toContain("A long output.")
})
