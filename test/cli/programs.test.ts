import { execFile } from "node:child_process"
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { type Home, home } from "./program-process.ts"

const programs = ["git", "bash", "sh", "rg", "ps", "kill", "env"]

interface HostileProject extends Home {
  /** Writes programs that record that they were started. */
  hostile(directory: string, names?: readonly string[]): Promise<void>
  /** The programs that were started; empty if none was. */
  started(): Promise<string>
}

/** A repository with one commit, and a user who allows every command. */
async function hostileProject(): Promise<HostileProject> {
  const at = await home()
  const record = join(at.path, "started")
  const run = (...args: string[]) =>
    promisify(execFile)("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: at.project })
  await run("init", "--quiet")
  await run("commit", "--quiet", "--allow-empty", "-m", "first")
  await at.config({ permission: { "*": "allow" } })
  return {
    ...at,
    async hostile(directory, names = programs) {
      await mkdir(directory, { recursive: true })
      for (const name of names) {
        const file = join(directory, name)
        await writeFile(file, `#!/bin/sh\necho "$0 $*" >> '${record}'\nexit 1\n`)
        await chmod(file, 0o755)
      }
    },
    started: () => readFile(record, "utf8").catch(() => ""),
  }
}

/** PATH with a directory before all others. */
function pathWith(directory: string): Record<string, string> {
  return { PATH: `${directory}${delimiter}${process.env.PATH}` }
}

describe("a hostile project that has its programs in PATH", () => {
  test.each([
    ["as npm puts it there", (at: Home) => join(at.project, "node_modules/.bin")],
    ["by a symlink outside of the project", (at: Home) => join(at.path, "tools")],
  ])("%s: `stemma run` starts none of them", async (_, entryOf) => {
    await using at = await hostileProject()
    await at.hostile(join(at.project, "node_modules/.bin"))
    await symlink(join(at.project, "node_modules/.bin"), join(at.path, "tools"))
    // The command writes, so a snapshot is taken before and after it.
    const ended = await at.run(["run", "run echo tea > cup.txt && echo poured"], {
      env: pathWith(entryOf(at)),
    })
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("poured") })
    expect(await at.started()).toBe("")
  })

  test("is opened by a server: none of its programs is started", async () => {
    await using at = await hostileProject()
    const bin = join(at.project, "node_modules/.bin")
    await at.hostile(bin)
    const server = await at.serve([], { env: pathWith(bin) })
    expect((await server.fetch(`/project/current?directory=${at.project}`)).status).toBe(200)
    expect(await at.started()).toBe("")
  })

  test("if bash is nowhere else, the error says where it is and why it is not used", async () => {
    await using at = await hostileProject()
    const bin = join(at.project, "node_modules/.bin")
    await at.hostile(bin)
    const { stdout, stderr } = await at.run(["run", "run echo tea"], { env: { PATH: bin } })
    expect(stdout + stderr).toContain("bash was not found outside the project")
    expect(stdout + stderr).toContain(`${bin} (inside the project)`)
    expect(await at.started()).toBe("")
  })
})

test("a git of the user in a directory outside of the project is used", async () => {
  await using at = await hostileProject()
  await at.hostile(join(at.path, "bin"), ["git"])
  expect(await at.run(["run", "hello"], { env: pathWith(join(at.path, "bin")) })).toMatchObject({ code: 0 })
  expect(await at.started()).toContain("rev-list")
})
