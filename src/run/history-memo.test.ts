import { expect, test } from "vitest"
import type { HistoryItem, Part } from "../protocol/index.ts"
import { context } from "../session/index.ts"
import { assistant, text, user } from "../session/samples.ts"
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

test.each([undefined, 1, 4, 5, 100])("shows what a new context would, with maxHistory %s", (maxHistory) => {
  const options = { ...(maxHistory !== undefined && { maxHistory }) }
  const items = Array.from({ length: 9 }, (_, position) => item(position))
  for (let count = 0; count <= items.length; count++) {
    const some = items.slice(0, count)
    expect(memoOf(some).context(options)).toEqual(context(some, options))
  }
})

test("gives the messages that it gave before again, the very same, when an answer is opened and sealed", () => {
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

test("begins with a user's message even if the prompt that it begins with shows nothing", () => {
  const items = [item(0), item(1), item(2, { parts: [] }), item(3), item(4)]
  const shown = memoOf(items).context({ maxHistory: 3 })
  expect(shown).toEqual(context(items, { maxHistory: 3 }))
  expect(shown[0]!.role).toBe("user")
})
