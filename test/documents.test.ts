import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { filesBelow } from "../tools/imports.ts"
import { temporaryDirectory } from "./support/temporary-directory.ts"

const documents = [
  ...readdirSync(".").filter((name) => name.endsWith(".md")),
  ...filesBelow("docs", ".md"),
  ...filesBelow("src", ".md"),
]
const scripts = Object.keys(JSON.parse(readFileSync("package.json", "utf8")).scripts)
const blocks = (path: string): string[] =>
  [...readFileSync(path, "utf8").matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map((match) => match[1]!)

describe("the documents", () => {
  test.each(documents)("%s links only to files that are there", (path) => {
    const text = readFileSync(path, "utf8").replace(/^```[\s\S]*?^```$/gm, "")
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!.replace(/#.*$/, ""))
    const local = targets.filter((target) => target !== "" && !/^[a-z]+:/.test(target))
    expect(local.filter((target) => !existsSync(join(dirname(path), target)))).toEqual([])
  })

  test.each(documents)("%s names only npm scripts that are there", (path) => {
    const named = [...readFileSync(path, "utf8").matchAll(/npm (?:run ([\w:]+)|(start|test)\b)/g)]
    expect(named.map((match) => match[1] ?? match[2]!).filter((name) => !scripts.includes(name))).toEqual([])
  })

  test.each(documents)("%s names only source files that are there", (path) => {
    const named = [...readFileSync(path, "utf8").matchAll(/`((?:src|test|examples|tools)\/[\w./-]+)`/g)]
    expect(named.map((match) => match[1]!).filter((name) => !existsSync(name))).toEqual([])
  })
})

describe("the README", () => {
  test("has a Chinese twin with the same commands, code and order", () => {
    expect(blocks("README.zh.md")).toEqual(blocks("README.md"))
    const shape = (path: string) => readFileSync(path, "utf8").match(/^(#+ |\d\. )/gm)
    expect(shape("README.zh.md")).toEqual(shape("README.md"))
  })

  test("says on its first screen what it is, how to run it and how to test it", () => {
    const screen = readFileSync("README.md", "utf8").split("\n").slice(0, 22).join("\n")
    expect(screen).toContain("session system for AI agents")
    expect(screen).toContain("npm ci && npm start")
    expect(screen).toContain("npm ci && npm test")
  })

  test("shows code that one command runs where the README is, each time with the same result", async () => {
    await using directory = await temporaryDirectory()
    const [code, printed] = blocks("README.md").slice(1)
    const example = readFileSync("examples/00-first.ts", "utf8")
    expect(example.replace('"../src/index.ts"', '"stemma"')).toBe(code)
    // The environment of the user who runs the tests is not inherited: no key, no config, no Ollama.
    const { path: home } = directory
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, OLLAMA_HOST: "127.0.0.1:1" }
    for (const _ of ["first", "second"]) {
      const result = await promisify(execFile)("npm", ["run", "-s", "example"], { env })
      expect(result).toEqual({ stdout: printed, stderr: "" })
    }
  })
})
