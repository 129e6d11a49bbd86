import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  backslashes,
  decoded,
  type Encoding,
  entities,
  formFields,
  percents,
  type View,
  viewOf,
  viewsOf,
  wrapping,
} from "./text-views.ts"

const textOf = ({ units }: View) => Buffer.from(units.buffer, 0, units.length * 2).toString("utf16le")

describe("a view is the decoded text", () => {
  test.each<[what: string, encoding: Encoding, text: string, view: string]>([
    ["percents", percents, "a%2Fb%2fc+d", "a/b/c+d"],
    ["percents in UTF-8", percents, "%C3%a9%E4%B8%AD%f0%9f%98%80!", "é中😀!"],
    [
      "percents that are broken",
      percents,
      "%41%4 %zz %E4%41 %E4%B8 %C0%80 %E0%80%80 %ED%A0%80 %F5%80%80%80 %",
      "A%4 %zz %E4A %E4%B8 %C0%80 %E0%80%80 %ED%A0%80 %F5%80%80%80 %",
    ],
    ["percents of percents, once", percents, "%252F", "%2F"],
    ["forms", formFields, "a+b%2Bc", "a b+c"],
    ["JSON", backslashes, String.raw`\"\\\/\n\u0026\u00E9\ud83d\ude00`, '"\\/\n&é😀'],
    ["JSON in JSON, once", backslashes, String.raw`\\\"\\u0026`, String.raw`\"\u0026`],
    ["Markdown and shells", backslashes, String.raw`a\_b\ c\'d`, "a_b c'd"],
    ["backslashes of something else", backslashes, String.raw`\_\d\u12g4\é\u12`, String.raw`_\d\u12g4\é\u12`],
    ["entities", entities, "&amp;&lt;&gt;&quot;&apos;&#39;&#x27;&#X1f600;&#0038;", "&<>\"'''😀&"],
    [
      "entities that are none",
      entities,
      "&amp;&&amp &; &#; &#x; &#xd800; &#1114112; &what; &#12a; a && b",
      "&&&amp &; &#; &#x; &#xd800; &#1114112; &what; &#12a; a && b",
    ],
    ["lines", wrapping, "ab\n  cd\r\nef\\ngh\\\\r\\\\nij\\k\\\\l", "abcdefghij\\k\\\\l"],
  ])("%s", (_, encoding, text, view) => {
    expect(textOf(decoded(viewOf(text), encoding)!)).toBe(view)
  })

  test("there is no view if nothing is encoded", () => {
    for (const encoding of [percents, backslashes, entities]) {
      expect(decoded(viewOf("100% of a && b \\d in\nwords"), encoding)).toBeUndefined()
    }
    expect([...viewsOf("100% of a && b \\d", [percents, backslashes, entities])]).toHaveLength(1)
    expect(decoded(viewOf("words"), wrapping)).toBeUndefined()
    expect(decoded(viewOf(""), wrapping)).toBeUndefined()
  })
})

describe("the origin of a range of a view", () => {
  test("contains whole escapes, and no neighbouring ones", () => {
    const text = "ab%2Fcd%F0%9F%98%80ef"
    const view = decoded(viewOf(text), percents)!
    const origin = (start: number, end: number) => {
      const span = view.origin({ start, end })
      return text.slice(span.start, span.end)
    }
    expect(textOf(view)).toBe("ab/cd😀ef")
    expect(origin(0, 2)).toBe("ab")
    expect(origin(1, 3)).toBe("b%2F")
    expect(origin(3, 5)).toBe("cd")
    expect(origin(4, 6)).toBe("d%F0%9F%98%80")
    expect(origin(6, 8)).toBe("%F0%9F%98%80e")
    expect(origin(7, 9)).toBe("ef")
  })

  test("does not begin or end with an escape that stands for nothing", () => {
    const text = " \n ab \n cd\n"
    const view = decoded(viewOf(text), wrapping)!
    expect(view.origin({ start: 0, end: 2 })).toEqual({ start: 3, end: 5 })
    expect(view.origin({ start: 1, end: 3 })).toEqual({ start: 4, end: 9 })
    expect(view.origin({ start: 2, end: 4 })).toEqual({ start: 8, end: 10 })
  })

  test("covers the text without gaps, through two encodings", () => {
    const piece = fc.constantFrom(
      "%25",
      "%32",
      "%46",
      "%",
      "2F",
      "&amp;",
      "\\\\",
      "\\u0025",
      "a",
      "é",
      "😀",
      "\n",
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join("")
        for (const view of viewsOf(text, [backslashes, percents, entities])) {
          let end = 0
          for (let at = 0; at < view.units.length; at++) {
            const span = view.origin({ start: at, end: at + 1 })
            expect(span.end).toBeGreaterThan(span.start)
            expect(span.end).toBeGreaterThanOrEqual(end)
            const isShared = span.end === end
            if (!isShared) expect(span.start).toBe(end)
            end = span.end
          }
          expect(end).toBe(text.length)
        }
      }),
    )
  })
})
