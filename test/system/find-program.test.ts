import { chmod, mkdir, realpath, symlink, writeFile } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { describe, expect, test } from "vitest"
import { findProgram, ProgramNotFoundError, trustedPath } from "../../src/system/find-program.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

interface Scene extends AsyncDisposable {
  base: string
  project: string
  /** Makes a directory with a program in it. */
  program(directory: string, options?: { mode?: number }): Promise<string>
}

async function scene(): Promise<Scene> {
  const temporary = await temporaryDirectory()
  const base = await realpath(temporary.path)
  const project = join(base, "project")
  await mkdir(project)
  return {
    base,
    project,
    async program(directory, { mode = 0o755 } = {}) {
      const path = join(base, directory)
      await mkdir(path, { recursive: true })
      await writeFile(join(path, "brew"), "#!/bin/sh\n")
      await chmod(join(path, "brew"), mode)
      return path
    },
    [Symbol.asyncDispose]: () => temporary[Symbol.asyncDispose](),
  }
}

describe("a program is not taken from", () => {
  test.each<[string, string, (at: Scene) => Promise<string>]>([
    ["the project", "inside the project", (at) => at.program("project/bin")],
    ["the project itself", "inside the project", (at) => at.program("project")],
    [
      "the project, by a path with dots",
      "inside the project",
      async (at) => `${await at.program("project/bin")}/../../project/bin`,
    ],
    [
      "the project, by a symlink outside of it",
      "inside the project",
      async (at) => {
        await symlink(await at.program("project/bin"), join(at.base, "link"))
        return join(at.base, "link")
      },
    ],
    [
      "a directory that the project has a symlink to",
      "inside the project",
      async (at) => {
        await symlink(await at.program("elsewhere"), join(at.project, "link"))
        return join(at.project, "link")
      },
    ],
    [
      "a symlink to a program of the project",
      "a symlink into the project",
      async (at) => {
        const file = join(await at.program("project/bin"), "brew")
        await mkdir(join(at.base, "bin"))
        await symlink(file, join(at.base, "bin/brew"))
        return join(at.base, "bin")
      },
    ],
    ["packages of a directory above", "installed by packages", (at) => at.program("node_modules/.bin")],
    [
      "a directory that every user can write to",
      "every user can change it",
      async (at) => {
        const path = await at.program("open")
        await chmod(path, 0o777)
        return path
      },
    ],
    [
      "a file that every user can write to",
      "every user can change it",
      (at) => at.program("bin", { mode: 0o777 }),
    ],
  ])("%s: %s", async (_, reason, entryOf) => {
    await using at = await scene()
    const entry = await entryOf(at)
    const search = { path: entry, project: at.project }
    const error = await findProgram("brew", search).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(ProgramNotFoundError)
    expect((error as Error).message).toBe(
      `brew was not found outside the project: PATH has it only in ${entry} (${reason}). ` +
        "Install brew, or add its directory to PATH.",
    )
    const good = await at.program("good")
    const both = { path: [entry, good].join(delimiter), project: at.project }
    expect(await findProgram("brew", both)).toBe(join(good, "brew"))
  })

  test.each(["", ".", "bin", "./bin"])("the relative directory %j", async (entry) => {
    await using at = await scene()
    const good = await at.program("good")
    const search = { path: [entry, good].join(delimiter), project: at.project }
    expect(await findProgram("brew", search)).toBe(join(good, "brew"))
    expect(await trustedPath(search)).toBe(good)
  })
})

test("the first good directory of PATH wins; a directory or a file that cannot be executed is no program", async () => {
  await using at = await scene()
  const plain = await at.program("plain", { mode: 0o644 })
  await mkdir(join(at.base, "folder", "brew"), { recursive: true })
  const [first, second] = [await at.program("first"), await at.program("second")]
  const path = [join(at.base, "none"), plain, join(at.base, "folder"), first, second].join(delimiter)
  expect(await findProgram("brew", { path, project: at.project })).toBe(join(first, "brew"))
})

test("a program that is installed later is found", async () => {
  await using at = await scene()
  const search = { path: join(at.base, "bin"), project: at.project }
  await expect(findProgram("brew", search)).rejects.toThrow("no directory of PATH has it")
  await at.program("bin")
  expect(await findProgram("brew", search)).toBe(join(at.base, "bin/brew"))
})

test("PATH for programs has the good directories in their order", async () => {
  await using at = await scene()
  const good = [await at.program("a"), await at.program("b")]
  const bad = [
    await at.program("project/bin"),
    "bin",
    join(at.base, "none"),
    await at.program("node_modules"),
  ]
  const path = [bad[0], good[0], bad[1], bad[2], good[1], bad[3]].join(delimiter)
  expect(await trustedPath({ path, project: at.project })).toBe(good.join(delimiter))
})

test.each(["/", "/usr", "/bin", "/usr/bin"])(
  "programs of the system are found if the project is %s",
  async (project) => {
    expect(await findProgram("sh", { path: undefined, project })).toMatch(/^\/(usr\/)?bin\/sh$/)
  },
)
