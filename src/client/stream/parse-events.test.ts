import { describe, expect, it } from "vitest"
import { EventParser, type ServerEvent } from "./parse-events.ts"

const bytesOf = (text: string) => new TextEncoder().encode(text)

function parse(text: string): ServerEvent[] {
  return new EventParser().push(bytesOf(text))
}

describe("an event stream", () => {
  it("is messages with a blank line after each", () => {
    expect(parse("data: one\n\ndata:two\n\ndata: not yet\n")).toEqual([
      { type: "message", data: "one", id: undefined },
      { type: "message", data: "two", id: undefined },
    ])
  })

  it("has data of several lines, names and ids; an id may be empty", () => {
    expect(parse("event: news\nid: 7\ndata: a\ndata:  b\ndata\n\ndata: c\n\nid\ndata: d\n\n")).toEqual([
      { type: "news", data: "a\n b\n", id: "7" },
      { type: "message", data: "c", id: undefined },
      { type: "message", data: "d", id: "" },
    ])
  })

  it("may contain comments, unknown fields and messages without data, which are ignored", () => {
    expect(parse(":\n\n: hello\nid: 1\n\ncolour: red\nevent: x\n\ndata: y\n\n")).toEqual([
      { type: "message", data: "y", id: "1" },
    ])
  })

  it("may begin with a byte order mark", () => {
    expect(parse("\uFEFFdata: x\n\n")).toMatchObject([{ data: "x" }])
  })

  it("ignores an id with a NUL", () => {
    expect(parse("id: 1\n\nid: 2\0\ndata: x\n\n")).toMatchObject([{ id: "1" }])
  })

  it("gives no message before the blank line after it", () => {
    const parser = new EventParser()
    expect(parser.push(bytesOf("data: cut o"))).toEqual([])
  })

  it("is refused when a message exceeds the limit", () => {
    const parser = new EventParser({ unitsMax: 1000 })
    for (let size = 0; size < 900; size += 100) parser.push(bytesOf("x".repeat(100)))
    expect(() => parser.push(bytesOf("x".repeat(200)))).toThrow("more than 1000 characters")
    const lines = new EventParser({ unitsMax: 1000 })
    expect(() => lines.push(bytesOf("data: 0123456789\n".repeat(100)))).toThrow("more than 1000 characters")
  })

  it("may be endless, and may contain comments of any number", () => {
    const parser = new EventParser({ unitsMax: 100 })
    for (let count = 0; count < 100; count++) {
      expect(parser.push(bytesOf(": still here\ndata: ten units.\n\n"))).toHaveLength(1)
      expect(parser.push(bytesOf(`: ${"z".repeat(80)}\n`))).toEqual([])
    }
  })
})
