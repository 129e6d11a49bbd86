import { expect, test } from "vitest"
import { createRedact, headerSecrets } from "./redact-secrets.ts"

test("takes every secret out, also as it stands in an address or in JSON", () => {
  const redact = createRedact(["sk-12345678", 'with "quotes" & more', "sk-12345678-longer"])
  expect(redact("a sk-12345678 b sk-12345678-longer c")).toBe("a [secret] b [secret] c")
  expect(redact(`?key=${encodeURIComponent('with "quotes" & more')}`)).toBe("?key=[secret]")
  expect(redact(JSON.stringify({ key: 'with "quotes" & more' }))).toBe('{"key":"[secret]"}')
})

test("takes out what follows Bearer even if nobody knows it", () => {
  expect(createRedact([])("Authorization: Bearer eyJhbGciOi.abc")).toBe("Authorization: Bearer [secret]")
})

test("leaves words alone that are no secrets", () => {
  expect(createRedact(["none", "", "ollama"])("none of ollama")).toBe("none of ollama")
})

test("finds the secret values among headers", () => {
  const headers = {
    Authorization: "Bearer abcdefgh",
    "x-api-key": "k1",
    "HTTP-Referer": "https://example.com",
  }
  expect(headerSecrets(headers)).toEqual(["Bearer abcdefgh", "abcdefgh", "k1", "k1"])
})
