import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
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

  test("shows code that runs as it stands", async () => {
    await using directory = await temporaryDirectory()
    const [code, printed] = blocks("README.md").slice(1)
    const entry = pathToFileURL(resolve("src/index.ts")).href
    await writeFile(join(directory.path, "readme.mts"), code!.replace('from "stemma"', `from "${entry}"`))
    // Nothing of whoever runs the tests: no key, no config, no Ollama.
    const env = { PATH: process.env.PATH, HOME: directory.path, OLLAMA_HOST: "127.0.0.1:1" }
    const result = await promisify(execFile)(process.execPath, ["readme.mts"], { cwd: directory.path, env })
    expect(result).toEqual({ stdout: printed, stderr: "" })
  })
})
