import { expect, test } from "vitest"
import { replaceText } from "./replace-text.ts"

const replace = (text: string, oldString: string, newString: string) =>
  replaceText(text, { name: "a.ts", oldString, newString })
const replaceAll = (text: string, oldString: string, newString: string) =>
  replaceText(text, { name: "a.ts", oldString, newString, replaceAll: true })

test("the only occurrence is replaced, and its line is known", () => {
  expect(replace("one\ntwo\nthree\n", "two", "2")).toEqual({ text: "one\n2\nthree\n", count: 1, line: 2 })
})

test("the new text is inserted literally, even where it looks like a replacement pattern", () => {
  expect(replace("price", "price", "$& $1 $$ $`").text).toBe("$& $1 $$ $`")
})

test("a text that occurs twice is refused with its lines, overlapping or not", () => {
  expect(() => replace("a\nb\na\n", "a", "c")).toThrow(/2 times in a\.ts, at lines 1, 3\..*replaceAll/)
  expect(() => replace("aaa", "aa", "b")).toThrow(/2 times/)
})

test("replaceAll replaces each occurrence that does not overlap the one before", () => {
  expect(replaceAll("aaaa b aa", "aa", "x")).toEqual({ text: "xx b x", count: 3, line: 1 })
})

test("CRLF stays CRLF, whichever line ends the model writes", () => {
  const text = "one\r\ntwo\r\nthree\r\n"
  expect(replace(text, "one\ntwo", "1\n2\n2b").text).toBe("1\r\n2\r\n2b\r\nthree\r\n")
  expect(replace(text, "one\r\ntwo", "1\r\n2").text).toBe("1\r\n2\r\nthree\r\n")
  expect(replace(text, "\ntwo\n", "\n").text).toBe("one\r\nthree\r\n")
  expect(replaceAll(text, "\n", "\n\n").text).toBe("one\r\n\r\ntwo\r\n\r\nthree\r\n\r\n")
})

test("in a file with mixed line ends only the replaced text changes", () => {
  expect(replace("a\r\nb\nc\r\nd\n\re\r", "c", "C").text).toBe("a\r\nb\nC\r\nd\n\re\r")
  expect(replace("a\r\nb\r\nc\nd", "c\nd", "x\ny").text).toBe("a\r\nb\r\nx\r\ny")
})

test("a file with LF gets no CR", () => {
  expect(replace("a\nb\n", "a\r\nb", "x\r\ny").text).toBe("x\ny\n")
})

test("a byte order mark stays", () => {
  expect(replace("\ufeffone\r\ntwo\r\n", "one\n", "1\n").text).toBe("\ufeff1\r\ntwo\r\n")
  expect(replace("\ufeffone", "\ufeffone", "1").text).toBe("\ufeff1")
})

test("a difference in white space only is reported, with the line", () => {
  const text = "start\n\tif (a) {\n\t\tb()\n\t}\n"
  expect(() => replace(text, "  if (a) {\n    b()\n  }", "x")).toThrow(/at line 2 if white space is ignored/)
})

test("line numbers in the old text are detected", () => {
  expect(() => replace("one\ntwo\n", "00001| one\n00002| two", "x")).toThrow(/without the line numbers/)
})

test("a first line that occurs is named; otherwise the error advises to read the file", () => {
  expect(() => replace("a\nfunction f() {\n  return 1\n}\n", "function f() {\n  return 2\n}", "x")).toThrow(
    /first line does, at line 2/,
  )
  expect(() => replace("a\nb\n", "nowhere", "x")).toThrow(/does not occur in a\.ts\. Read the file/)
})

test("a change that would make the file too large is refused before it is made", () => {
  expect(() => replaceAll("a".repeat(100_000), "a", "b".repeat(100_000))).toThrow(/too large/)
})

test("a difference in line ends only is no change", () => {
  expect(() => replace("a\nb\n", "a\n", "a\r\n")).toThrow(/line ends only/)
})
