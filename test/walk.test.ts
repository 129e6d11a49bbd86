import { execFile } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { declares, importedFiles, walkSteps } from "./support/walk/walk.ts"

const steps = walkSteps(readFileSync("docs/walk.md", "utf8"))

describe("docs/walk.md", () => {
  test("is numbered from 1 and names each file once", () => {
    expect(steps.map(({ number }) => number)).toEqual(steps.map((_, index) => index + 1))
    expect(new Set(steps.map(({ file }) => file)).size).toBe(steps.length)
  })

  test("needs at most 80 files from the socket to the frame", () => {
    expect(steps.length).toBeGreaterThan(40)
    expect(steps.length).toBeLessThanOrEqual(80)
  })

  test.each(steps)("$number. $file exists and holds $name", ({ file, name }) => {
    expect(existsSync(file)).toBe(true)
    expect(declares(file, name), `${file} does not declare ${name}`).toBe(true)
  })

  test("names each file after a file that imports it", () => {
    const reached = new Set<string>()
    const early: string[] = []
    for (const { file, number } of steps) {
      if (number > 1 && !reached.has(file)) early.push(file)
      for (const target of importedFiles(file)) reached.add(target)
    }
    expect(early, "no file named before these imports them").toEqual([])
  })

  test("names only functions that run for a prompt over HTTP", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["test/support/walk/covered-prompt.ts"], {
      maxBuffer: 16 * 1024 * 1024,
      timeout: 60_000,
    })
    const ran = JSON.parse(stdout) as Record<string, string[]>
    const idle = steps.filter(({ file, name, isBefore }) => {
      const names = (ran[file] ?? []).map((one) => one.replace(/^get /, ""))
      return !isBefore && !names.includes(name.split(".").at(-1)!)
    })
    expect(idle.map(({ number, file, name }) => `${number}. ${file} ${name}: ${ran[file]}`)).toEqual([])
  })
})
