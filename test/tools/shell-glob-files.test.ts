import { execFile } from "node:child_process"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { globFiles } from "../../src/tools/shell/analyse/glob-files.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

test("patterns match the files that bash matches", async () => {
  await using directory = await temporaryDirectory()
  await mkdir(join(directory.path, "src/deep"), { recursive: true })
  for (const name of [
    "a.ts",
    "b.ts",
    "A.md",
    ".env",
    ".envrc",
    "x y",
    "src/c.ts",
    "src/deep/d.ts",
    "[z]",
    "-o",
  ]) {
    await writeFile(join(directory.path, name), "")
  }
  const patterns = [
    "*",
    "*.ts",
    "?.ts",
    ".e*",
    "s*/*.ts",
    "*/*/d.ts",
    "src/*",
    "x\\ *",
    "\\[*",
    "none*",
    "[ab].ts",
    "[!a].ts",
    "*/",
    "-*",
    "./*.ts",
  ]
  for (const pattern of patterns) {
    const { stdout } = await promisify(execFile)(
      "bash",
      ["--norc", "-c", `LC_ALL=C; printf '%s\\n' ${pattern}`],
      { cwd: directory.path },
    )
    const expected = stdout.trimEnd().split("\n").sort()
    const found = (await globFiles(pattern, directory.path))!
      .map((path) => path.slice(directory.path.length + 1))
      .sort()
    expect({ pattern, found: found.map((path) => path.replace(/^\.\//, "")) }).toEqual({
      pattern,
      found: expected.map((path) => path.replace(/^\.\//, "")),
    })
  }
})

test("a pattern that is not supported, or that matches too many files, gives no certain result", async () => {
  await using directory = await temporaryDirectory()
  expect(await globFiles("[[:alpha:]]*", directory.path)).toBeUndefined()
  await Promise.all(
    Array.from({ length: 1_001 }, (_, index) => writeFile(join(directory.path, `${index}`), "")),
  )
  expect(await globFiles("*", directory.path)).toBeUndefined()
})
