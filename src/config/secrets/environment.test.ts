import { execFileSync } from "node:child_process"
import { describe, expect, test } from "vitest"
import { secretMask, toolEnvironment } from "./environment.ts"

describe("toolEnvironment", () => {
  const env = {
    PATH: process.env.PATH,
    OPENAI_API_KEY: "sk-1234567",
    STEMMA_DATA: "/d",
    stemma_token: "t",
    COPY: "Bearer sk-1234567",
    SHORT: "abc",
    HARMLESS: "yes",
    GONE: undefined,
  }
  const given = toolEnvironment(env, {
    names: ["OPENAI_API_KEY", "NOT_SET"],
    values: ["sk-1234567", "abc", ""],
  })

  test("leaves out keys by name, Stemma's own variables and variables that contain a secret", () => {
    expect(given).toEqual({ PATH: process.env.PATH, SHORT: "abc", HARMLESS: "yes" })
  })

  test("a process with this environment cannot find the key", () => {
    const seen = execFileSync(process.execPath, ["-p", "JSON.stringify(process.env)"], {
      env: given,
      encoding: "utf8",
    })
    expect(seen).toContain("HARMLESS")
    expect(seen).not.toContain("sk-1234567")
  })
})

describe("secretMask", () => {
  test("replaces secrets, the longer one first, and leaves short values alone", () => {
    const mask = secretMask(["secret", "secret-long", "abc"])
    expect(mask("abc secret-long secret secrets")).toBe("abc [secret] [secret] [secret]s")
  })

  test("masks secrets in JSON and in a URL", () => {
    const mask = secretMask(['pa"ss/word+1'])
    expect(mask(JSON.stringify({ key: 'pa"ss/word+1' }))).toBe('{"key":"[secret]"}')
    expect(mask(`https://x/?k=${encodeURIComponent('pa"ss/word+1')}`)).toBe("https://x/?k=[secret]")
  })

  test("matches a secret literally, not as a pattern", () => {
    expect(secretMask(["a.*$()+b"])("a.*$()+b axxxb")).toBe("[secret] axxxb")
  })

  test("without secrets returns the text unchanged", () => {
    expect(secretMask([])("text")).toBe("text")
  })
})
