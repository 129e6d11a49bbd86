import { expect, test } from "vitest"
import { createMask, headerSecrets } from "./mask-secrets.ts"

test("masks every secret, also as it is written in a URL or in JSON", () => {
  const mask = createMask(["sk-12345678", 'with "quotes" & more', "sk-12345678-longer"])
  expect(mask("a sk-12345678 b sk-12345678-longer c")).toBe("a [secret] b [secret] c")
  expect(mask(`?key=${encodeURIComponent('with "quotes" & more')}`)).toBe("?key=[secret]")
  expect(mask(JSON.stringify({ key: 'with "quotes" & more' }))).toBe('{"key":"[secret]"}')
})

test("masks the text after Bearer even if it is not a known secret", () => {
  expect(createMask([])("Authorization: Bearer eyJhbGciOi.abc")).toBe("Authorization: Bearer [secret]")
})

test("does not mask other words", () => {
  expect(createMask(["none", "", "ollama"])("none of ollama")).toBe("none of ollama")
})

test("finds the secret values among headers", () => {
  const headers = {
    Authorization: "Bearer abcdefgh",
    "x-api-key": "k1",
    "HTTP-Referer": "https://example.com",
  }
  expect(headerSecrets(headers)).toEqual(["Bearer abcdefgh", "abcdefgh", "k1", "k1"])
})
