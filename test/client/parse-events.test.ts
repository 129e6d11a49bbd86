import fc from "fast-check"
import { expect, it } from "vitest"
import { EventParser, type ServerEvent } from "../../src/client/stream/parse-events.ts"
import { testSeed } from "../support/seed.ts"

const bytesOf = (text: string) => new TextEncoder().encode(text)

const seeds = testSeed("parse events")
const word = fc.oneof(fc.string({ unit: "grapheme", maxLength: 8 }), fc.constant("配置🙂"), fc.constant(""))
const line = word.map((text) => text.replace(/[\r\n\0]/g, ""))
const message = fc.record({
  id: fc.option(line),
  type: fc.option(line),
  data: fc.array(line, { minLength: 1, maxLength: 4 }),
  comment: fc.option(line),
})

it("an event stream is parsed the same, however its bytes are split and its lines end", () => {
  const stream = fc.array(fc.tuple(message, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 8 })
  const cuts = fc.array(fc.nat(60), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(stream, cuts, (messages, sizes) => {
      let text = ""
      const expected: ServerEvent[] = []
      for (const [{ id, type, data, comment }, end] of messages) {
        if (comment !== null) text += `: ${comment}${end}`
        if (id !== null) text += `id: ${id}${end}`
        if (type !== null) text += `event: ${type}${end}`
        for (const one of data) text += `data: ${one}${end}`
        text += end
        expected.push({ type: type || "message", data: data.join("\n"), id: id ?? undefined })
      }
      const bytes = bytesOf(text)
      const parser = new EventParser()
      const found: ServerEvent[] = []
      for (let at = 0, cut = 0; at < bytes.length; cut++) {
        const size = sizes[cut % sizes.length]! || 1
        found.push(...parser.push(bytes.subarray(at, at + size)))
        at += size
      }
      expect(found).toEqual(expected)
    }),
    { ...seeds, numRuns: 2000 },
  )
})
