import { lstat, mkdir, readdir, realpath, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { describe, expect, test } from "vitest"
import { defaultRules } from "../../src/config/permission/default-rules.ts"
import { evaluate } from "../../src/session/index.ts"
import { type Disk, DiskNames } from "../../src/workspace/path/disk-names.ts"
import { foldName } from "../../src/workspace/path/guarded-names.ts"
import { realPath } from "../../src/workspace/path/real-path.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

/** A directory as a case-insensitive disk shows it. `short` gives aliases for long names, as some disks have them. */
function caseInsensitive(base: string, short: Record<string, string> = {}) {
  const asked: string[] = []
  const actual = async (path: string): Promise<string> => {
    if (path === base || !path.startsWith(`${base}/`)) return path
    const directory = await actual(dirname(path))
    const name = path.slice(dirname(path).length + 1)
    const long = short[name.toUpperCase()] ?? name
    const found = (await readdir(directory)).find((one) => foldName(one) === foldName(long))
    return join(directory, found ?? name)
  }
  const disk: Disk = {
    lstat: async (path) => lstat(await actual(path)),
    readdir: async (path) => {
      asked.push(path)
      return readdir(await actual(path))
    },
  }
  return { disk, actual, asked }
}

async function project() {
  const temporary = await temporaryDirectory()
  const base = await realpath(temporary.path)
  await mkdir(join(base, "Src/deep"), { recursive: true })
  await writeFile(join(base, ".env"), "")
  await writeFile(join(base, "Src/deep/id_rsa"), "")
  await writeFile(join(base, "a long credentials.json"), "")
  await symlink("Src", join(base, "Link"))
  return { base, [Symbol.asyncDispose]: () => temporary[Symbol.asyncDispose]() }
}

describe.each(["that must be listed to find a name", "that returns the spelling of a name"])(
  "on a disk %s",
  (kind) => {
    const diskNamesOf = (base: string) => {
      const { disk, actual } = caseInsensitive(base, { "ALONGC~1.JSO": "a long credentials.json" })
      return new DiskNames(
        kind === "that must be listed to find a name" ? disk : { ...disk, realName: actual },
      )
    }

    test.each([
      [".ENV", ".env"],
      [".Env", ".env"],
      [".env", ".env"],
      ["sRC/DEEP/Id_Rsa", "Src/deep/id_rsa"],
      ["src/../.ENV", ".env"],
      ["Link/DEEP/ID_RSA", "Src/deep/id_rsa"],
      ["ALONGC~1.JSO", "a long credentials.json"],
      ["SRC/New.txt", "Src/New.txt"],
      ["New/Other", "New/Other"],
    ])("%s is %s", async (given, expected) => {
      await using temporary = await project()
      const { path } = await realPath(join(temporary.base, given), diskNamesOf(temporary.base))
      expect(path).toBe(join(temporary.base, expected))
    })

    test("a secret needs a question, however its name is spelled", async () => {
      await using temporary = await project()
      for (const given of [".ENV", "SRC/deep/ID_RSA"]) {
        const { path } = await realPath(join(temporary.base, given), diskNamesOf(temporary.base))
        expect(evaluate("read", path.slice(temporary.base.length + 1), defaultRules).action).toBe("ask")
      }
    })
  },
)

test("two names that differ only in Unicode normalization are both kept as given", async () => {
  await using temporary = await project()
  await writeFile(join(temporary.base, "caf\u00e9.txt"), "")
  const { path } = await realPath(
    join(temporary.base, "cafe\u0301.txt"),
    new DiskNames(caseInsensitive(temporary.base).disk),
  )
  expect(path).toBe(join(temporary.base, "cafe\u0301.txt"))
})

test("a case-sensitive directory is never listed, and other spellings are checked once", async () => {
  await using temporary = await project()
  let looks = 0
  const disk: Disk = {
    lstat: (path) => {
      looks++
      return lstat(path)
    },
    readdir: () => Promise.reject(new Error("It was listed.")),
  }
  const diskNames = new DiskNames(disk)
  const path = join(temporary.base, "Src/deep/id_rsa")
  expect(await realPath(path, diskNames)).toMatchObject({ path })
  looks = 0
  expect(await realPath(path, diskNames)).toMatchObject({ path })
  expect(looks).toBe(path.split("/").length - 1)
  const upper = join(temporary.base, "SRC")
  expect(await realPath(upper, diskNames)).toMatchObject({ path: upper, stats: undefined })
})

test("two files whose names differ only in case keep their names on a case-sensitive disk", async () => {
  await using temporary = await project()
  await writeFile(join(temporary.base, ".ENV"), "another")
  for (const name of [".env", ".ENV"]) {
    expect(await realPath(join(temporary.base, name))).toMatchObject({ path: join(temporary.base, name) })
  }
})
