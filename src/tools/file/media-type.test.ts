import { expect, test } from "vitest"
import { looksLikeText, mediaType } from "./media-type.ts"

const bytes = (text: string) => Buffer.from(text, "latin1")

test.each([
  ["\x89PNG\r\n\x1a\n....", "image/png"],
  ["\xff\xd8\xff\xe0....", "image/jpeg"],
  ["GIF89a....", "image/gif"],
  ["RIFF....WEBPVP8 ", "image/webp"],
  ["RIFF....WAVEfmt ", undefined],
  ["%PDF-1.7", "application/pdf"],
  ["PNG is a format", undefined],
  ["", undefined],
])("%j begins %s", (head, type) => {
  expect(mediaType(bytes(head))).toBe(type)
})

test.each([
  ["plain text", Buffer.from("hello\n"), true],
  ["nothing", Buffer.alloc(0), true],
  ["other scripts", Buffer.from("字典 😀 Ünï"), true],
  ["a character cut at the end", Buffer.from("aaa字").subarray(0, -1), true],
  ["Latin-1 with a few accents", bytes("Der Fu\xdf der K\xf6nigin, und noch viel mehr Text dahinter"), true],
  ["a NUL", Buffer.from("text\0text"), false],
  ["random bytes", bytes("\x80\xff\xfe\x91\xa5\xb6\x9c\xc3\xd1\xe7ab"), false],
])("%s: text is %s", (_, head, expected) => {
  expect(looksLikeText(head)).toBe(expected)
})
