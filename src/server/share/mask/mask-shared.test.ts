import { describe, expect, test } from "vitest"
import { createSharedMask } from "./mask-shared.ts"
import { noise, pem } from "./samples.ts"

const mask = createSharedMask({ values: [], paths: [] })

describe("a secret that is split between texts", () => {
  const key = `ghp_${noise(36)}`

  test("is found wherever it is split", () => {
    for (let at = 0; at <= key.length; at++) {
      const shown = mask([`one ${key.slice(0, at)}`, `${key.slice(at)} two`])
      expect(shown.join("|")).not.toContain(key.slice(-8))
      expect(shown.join("|")).not.toContain(key.slice(4, 12))
      expect(shown[0]).toMatch(/^one /)
      expect(shown[1]).toMatch(/ two$/)
    }
  })

  test("is found in three texts, and after a text without a word boundary", () => {
    expect(mask([key.slice(0, 10), key.slice(10, 20), `${key.slice(20)}.`])).toEqual(["[redacted]", "", "."])
    expect(mask(["word", `sk-${noise(48)}`, "word"])).toEqual(["word", "[redacted]", "word"])
  })

  test("a private key is masked in all texts that it spans", () => {
    const text = pem("PRIVATE KEY", 6)
    const shown = mask([text.slice(0, 100), text.slice(100, 200), text.slice(200)])
    expect(shown).toEqual(["[redacted]", "", ""])
  })
})
