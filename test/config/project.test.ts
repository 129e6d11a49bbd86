import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { type ConfigScene, configScene, git } from "./config-scene.ts"

const env = { PATH: process.env.PATH }

async function idOf(at: ConfigScene, directory: string, data = at.data): Promise<string> {
  return (await at.open({ directory, env, dataDirectory: data }).current()).project.id
}

async function repository(at: ConfigScene): Promise<string> {
  await git(at.project, "init", "-q", "-b", "main")
  await writeFile(join(at.project, "a"), "1")
  await git(at.project, "add", "a")
  await git(at.project, "commit", "-q", "-m", "first")
  return at.project
}

describe("the id of a project", () => {
  test("is the same in every directory, clone and work tree of a repository", async () => {
    await using at = await configScene()
    const main = await repository(at)
    await mkdir(join(main, "sub"))
    const clone = join(at.project, "..", "clone")
    const tree = join(at.project, "..", "tree")
    await git(main, "clone", "-q", main, clone)
    await git(main, "worktree", "add", "-q", tree)
    await git(clone, "commit", "-q", "--allow-empty", "-m", "second")
    const ids = [
      await idOf(at, main),
      await idOf(at, join(main, "sub")),
      await idOf(at, clone),
      await idOf(at, tree),
    ]
    expect(new Set(ids).size).toBe(1)
    expect(ids[0]).toMatch(/^prj_[0-9a-f]{32}$/)
    expect((await at.open({ directory: tree, env }).current()).project.root).toBe(tree)
  })

  test("outside of git is derived from the directory, and does not change with the first commit", async () => {
    await using at = await configScene()
    const plain = await idOf(at, at.project)
    expect(await idOf(at, at.data)).not.toBe(plain)
    await git(at.project, "init", "-q")
    expect(await idOf(at, at.project)).toBe(plain)
    await git(at.project, "commit", "-q", "--allow-empty", "-m", "first")
    expect(await idOf(at, at.project)).toBe(plain)
  })

  test("is read from git once, without writing to the repository or running programs that it names", async () => {
    await using at = await configScene()
    const main = await repository(at)
    const program = join(at.data, "program")
    const ran = join(at.data, "ran")
    await writeFile(program, `#!/bin/sh\ntouch ${ran}\n`)
    await chmod(program, 0o755)
    for (const key of ["core.fsmonitor", "core.sshCommand", "core.pager", "gpg.program", "alias.rev-list"])
      await git(main, "config", key, key.startsWith("alias") ? `!${program}` : program)
    const before = await readdir(join(main, ".git"))
    const id = await idOf(at, main)
    expect(await readdir(join(main, ".git"))).toEqual(before)
    expect(await stat(ran).catch(() => "never")).toBe("never")
    await rename(join(main, ".git", "objects"), join(main, ".git", "gone"))
    expect(await idOf(at, main)).toBe(id)
    expect(await idOf(at, main, join(at.data, "other"))).not.toBe(id)
  })

  test("of a repository with missing commits is found without running the fetch program that the repository names", async () => {
    await using at = await configScene()
    const main = await repository(at)
    await git(main, "commit", "-q", "--allow-empty", "-m", "second")
    const first = (await git(main, "rev-parse", "HEAD~1")).trim()
    const ran = join(at.data, "ran")
    for (const [key, value] of [
      ["remote.origin.url", `ext::sh -c touch% ${ran}`],
      ["remote.origin.promisor", "true"],
      ["extensions.partialClone", "origin"],
      ["core.repositoryFormatVersion", "1"],
      ["protocol.ext.allow", "always"],
    ] as const)
      await git(main, "config", key, value)
    await rm(join(main, ".git", "objects", first.slice(0, 2), first.slice(2)))
    expect(await idOf(at, main)).toMatch(/^prj_/)
    expect(await stat(ran).catch(() => "never")).toBe("never")
    // The trap works: plain git runs the program.
    await git(main, "rev-list", "--max-parents=0", "HEAD").catch(() => undefined)
    expect((await stat(ran)).isFile()).toBe(true)
  })

  test("of a shallow clone is derived from the directory, because its first commit is not the repository's first", async () => {
    await using at = await configScene()
    const main = await repository(at)
    await git(main, "commit", "-q", "--allow-empty", "-m", "second")
    const clone = join(at.project, "..", "shallow")
    await git(main, "clone", "-q", "--depth", "1", `file://${main}`, clone)
    expect(await idOf(at, clone)).not.toBe(await idOf(at, main))
  })

  test("exists without git too", async () => {
    await using at = await configScene()
    const main = await repository(at)
    const { project } = await at.open({ directory: main, env: { PATH: at.data } }).current()
    expect(project.id).toMatch(/^prj_/)
  })
})
