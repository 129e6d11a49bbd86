import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { findFloatingPromises } from "../tools/floating-promises.ts"
import { lockProblems, readmeProblems } from "../tools/package-check.ts"
import { temporaryDirectory } from "./support/temporary-directory.ts"

const run = promisify(execFile)

const floating = `import { appendFile } from "node:fs/promises"

async function save(): Promise<void> {
  await appendFile("a", "b")
}

export function dropped(): void {
  save()
  appendFile("a", "b")
}

export function kept(): Promise<void> {
  void save()
  save().catch(() => {})
  save()
    .catch(() => {})
    .finally(() => {})
  return appendFile("a", "b")
}
`

describe("a promise that nobody waits for", () => {
  test("is found with the types of Node too", async () => {
    await using directory = await temporaryDirectory()
    const config = join(directory.path, "tsconfig.json")
    const typeRoots = [resolve("node_modules/@types")]
    const compilerOptions = { target: "es2025", module: "nodenext", strict: true, typeRoots, types: ["node"] }
    await writeFile(config, JSON.stringify({ compilerOptions, include: ["*.ts"] }))
    await writeFile(join(directory.path, "package.json"), '{ "type": "module" }')
    await writeFile(join(directory.path, "floating.ts"), floating)
    const found = findFloatingPromises(config)
    expect(found.map((line) => line.replace(/^.*floating\.ts:/, ""))).toEqual([
      "8:3 nobody waits for: save()",
      '9:3 nobody waits for: appendFile("a", "b")',
    ])
  })

  test("is an error of the linter with our settings", async () => {
    await using directory = await temporaryDirectory()
    const settings = JSON.parse(readFileSync("biome.json", "utf8")) as Record<string, unknown>
    await writeFile(join(directory.path, "biome.json"), JSON.stringify({ ...settings, vcs: undefined }))
    await mkdir(join(directory.path, "src"))
    await writeFile(join(directory.path, "src/floating.ts"), floating)
    const failed = await run(resolve("node_modules/.bin/biome"), ["lint", "src"], {
      cwd: directory.path,
    }).catch((error) => error)
    expect(failed).toMatchObject({ code: 1 })
    expect(failed.stderr).toContain("floating.ts:8:3 lint/nursery/noFloatingPromises")
  })
})

describe("the package check", () => {
  test("refuses a lock file that names a registry host", () => {
    const lock = (resolved: string) => JSON.stringify({ packages: { "node_modules/a": { resolved } } })
    expect(lockProblems(lock("https://registry.example/a.tgz"))).toHaveLength(1)
    expect(lockProblems(lock("web"))).toEqual([])
  })

  test("wants one line a file in a folder's README", async () => {
    await using directory = await temporaryDirectory()
    for (const name of ["a.ts", "a.test.ts", "b.ts"]) await writeFile(join(directory.path, name), "")
    await mkdir(join(directory.path, "sub"))
    const readme = join(directory.path, "README.md")
    await writeFile(readme, "May import: nothing.\n\n- `a.ts`: the first\n- `c.ts`: the third\n")
    expect(readmeProblems(directory.path)).toEqual([
      `${readme} has no line for b.ts`,
      `${readme} has no line for sub/`,
      `${readme} names c.ts, which is gone`,
    ])
    await writeFile(
      readme,
      "May import: nothing.\n\n- `a.ts`: the first\n- `b.ts`: the second\n- `sub/`: more\n",
    )
    expect(readmeProblems(directory.path)).toEqual([])
  })
})
