import { execFile } from "node:child_process"
import { link, mkdir, open, realpath, symlink, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { openWorkspace } from "../../src/workspace/path/paths.ts"
import { expectHelpful, rejection } from "../support/rejection.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

async function scene() {
  const temporary = await temporaryDirectory()
  const base = await realpath(temporary.path)
  const root = join(base, "project")
  await mkdir(join(root, "src"), { recursive: true })
  await writeFile(join(root, "src", "main.ts"), "")
  await mkdir(join(base, "outside"))
  await writeFile(join(base, "outside", "secret"), "")
  return { base, root, [Symbol.asyncDispose]: temporary[Symbol.asyncDispose] }
}

const git = (cwd: string, ...args: string[]) => promisify(execFile)("git", args, { cwd })

describe("openWorkspace", () => {
  test("refuses a directory that does not exist, and says what to do", async () => {
    await using at = await scene()
    expectHelpful(await rejection(openWorkspace({ directory: join(at.base, "none") })), "not_found")
    expectHelpful(await rejection(openWorkspace({ directory: join(at.root, "src", "main.ts") })), "invalid")
    expectHelpful(await rejection(openWorkspace({ directory: "" })), "invalid")
    expectHelpful(await rejection(openWorkspace({ directory: "a\0b" })), "invalid")
  })

  test("uses the git work tree that contains the directory as root", async () => {
    await using at = await scene()
    await git(at.root, "init", "--quiet")
    const workspace = await openWorkspace({ directory: join(at.root, "src") })
    expect(workspace).toMatchObject({ directory: join(at.root, "src"), root: at.root })
    expect(await workspace.resolve("../readme")).toMatchObject({ name: "../readme", external: false })
    expect(await workspace.resolve("..")).toMatchObject({ name: "..", external: false })
    expect(await workspace.resolve(".")).toMatchObject({ name: ".", exists: true })
  })

  test("uses a linked work tree as root, and guards the repository behind it", async () => {
    await using at = await scene()
    await git(at.root, "init", "--quiet")
    await git(
      at.root,
      "-c",
      "user.name=a",
      "-c",
      "user.email=a@b.c",
      "commit",
      "--quiet",
      "--allow-empty",
      "-m",
      "x",
    )
    await git(at.root, "worktree", "add", "--quiet", join(at.base, "linked"))
    const workspace = await openWorkspace({ directory: join(at.base, "linked") })
    expect(workspace.root).toBe(join(at.base, "linked"))
    expect((await workspace.resolve(".git")).guarded).toBe(true)
    expect((await workspace.resolve(join(at.root, ".git", "config"))).guarded).toBe(true)
  })

  test("uses the directory itself if the `.git` above it is not a repository", async () => {
    await using at = await scene()
    await mkdir(join(at.base, ".git"))
    expect((await openWorkspace({ directory: at.root })).root).toBe(at.root)
  })

  test("uses the directory itself if the repository covers the whole home directory", async () => {
    await using at = await scene()
    await git(at.base, "init", "--quiet")
    const before = process.env.HOME
    try {
      process.env.HOME = at.base
      expect(homedir()).toBe(at.base)
      expect((await openWorkspace({ directory: at.root })).root).toBe(at.root)
      expect((await openWorkspace({ directory: at.base })).root).toBe(at.base)
      process.env.HOME = join(at.base, "outside")
      expect((await openWorkspace({ directory: at.root })).root).toBe(at.root)
    } finally {
      process.env.HOME = before
    }
  })

  test("opens a directory named by a symlink under its real path", async () => {
    await using at = await scene()
    await symlink(at.root, join(at.base, "link"))
    expect((await openWorkspace({ directory: join(at.base, "link") })).directory).toBe(at.root)
  })

  test("opens the root of the file system", async () => {
    expect(await openWorkspace({ directory: "/" })).toMatchObject({ directory: "/", root: "/" })
    expect(await (await openWorkspace({ directory: "/" })).resolve("/etc")).toMatchObject({
      name: "etc",
      external: false,
    })
  })
})

describe("resolve", () => {
  test("names paths inside by their relative path and paths outside by their absolute path", async () => {
    await using at = await scene()
    const { resolve } = await openWorkspace({ directory: at.root })
    expect(await resolve("src/main.ts")).toEqual({
      path: join(at.root, "src", "main.ts"),
      name: "src/main.ts",
      external: false,
      directoryPattern: join(at.root, "src", "*"),
      guarded: false,
      forbidden: false,
      exists: true,
    })
    const outside = join(at.base, "outside", "secret")
    const seen = {
      path: outside,
      name: outside,
      external: true,
      directoryPattern: join(at.base, "outside", "*"),
    }
    expect(await resolve("../outside/secret")).toMatchObject(seen)
    expect(await resolve(outside)).toMatchObject(seen)
    expect(await resolve(join(at.root, "src"))).toMatchObject({ name: "src", external: false })
    expect(await resolve(`${at.root}-other`)).toMatchObject({ external: true })
    expect(await resolve("/")).toMatchObject({ path: "/", external: true, directoryPattern: "/*" })
  })

  test("follows symlinks, also to targets that do not exist yet", async () => {
    await using at = await scene()
    await symlink(join(at.base, "outside"), join(at.root, "out"))
    await symlink("../outside/new", join(at.root, "dangling"))
    await symlink("src/main.ts", join(at.root, "inner"))
    const { resolve } = await openWorkspace({ directory: at.root })
    expect(await resolve("out/secret")).toMatchObject({
      path: join(at.base, "outside", "secret"),
      external: true,
    })
    expect(await resolve("out/none/deep")).toMatchObject({ external: true, exists: false })
    expect(await resolve("dangling")).toMatchObject({
      path: join(at.base, "outside", "new"),
      external: true,
      exists: false,
    })
    expect(await resolve("inner")).toMatchObject({ name: "src/main.ts", external: false })
    // The kernel resolves `..` from the target of the link, not from the link.
    expect(await resolve("out/../project/src")).toMatchObject({ name: "src", external: false })
    expect(await resolve("out/../x")).toMatchObject({ path: join(at.base, "x"), external: true })
    expect(await resolve("none/../out/secret")).toMatchObject({ external: true })
  })

  test("expands a leading ~/ and no other tilde", async () => {
    await using at = await scene()
    const { resolve } = await openWorkspace({ directory: at.root })
    expect((await resolve("~/stemma-no-such-file")).path).toBe(
      join(await realpath(homedir()), "stemma-no-such-file"),
    )
    expect((await resolve("~")).path).toBe(await realpath(homedir()))
    expect(await resolve("~root/x")).toMatchObject({ name: "~root/x", external: false })
    expect(await resolve("src/~/x")).toMatchObject({ name: "src/~/x" })
  })

  test("refuses a NUL, a name that is too long and a circle of symlinks with an explanation", async () => {
    await using at = await scene()
    await symlink("loop", join(at.root, "loop"))
    const { resolve } = await openWorkspace({ directory: at.root })
    await expect(resolve("a\0b")).rejects.toThrow(/NUL/)
    await expect(resolve("x".repeat(5000))).rejects.toThrow(/too long/)
    await expect(resolve("loop")).rejects.toThrow(/circle/)
  })

  test.each([
    [".git", true],
    [".git/config", true],
    [".GIT/hooks/pre-commit", true],
    ["sub/.git", true],
    [".g\u200cit/config", true],
    ["git~1/config", true],
    [".git./config", true],
    ["stemma.json", true],
    ["Stemma.JSONC", true],
    ["packages/a/stemma.jsonc", true],
    [".stemma/agents/x.md", true],
    [".gitignore", false],
    [".github/workflows/ci.yml", false],
    ["stemma.json5", false],
    ["src/git", false],
    ["src/stemma.ts", false],
  ])("%s is guarded: %s", async (path, guarded) => {
    await using at = await scene()
    expect((await (await openWorkspace({ directory: at.root })).resolve(path)).guarded).toBe(guarded)
  })

  test("guards a path by its real path, also in directories outside", async () => {
    await using at = await scene()
    await mkdir(join(at.root, ".git"))
    await symlink(".git", join(at.root, "innocent"))
    const { resolve } = await openWorkspace({ directory: at.root })
    expect(await resolve("innocent/config")).toMatchObject({ name: ".git/config", guarded: true })
    expect((await resolve(join(at.base, "other", ".git", "config"))).guarded).toBe(true)
  })

  test("guards Stemma's own directories and never shows forbidden files, by any of their names", async () => {
    await using at = await scene()
    const data = join(at.base, "data")
    await mkdir(data)
    await writeFile(join(data, "token"), "secret")
    await symlink(data, join(at.base, "data-link"))
    await symlink(join(data, "token"), join(at.root, "notes"))
    await link(join(data, "token"), join(at.root, "hard"))
    const { resolve } = await openWorkspace({
      directory: at.root,
      own: [join(at.base, "data-link")],
      forbidden: [join(at.base, "data-link", "token"), join(data, "later")],
    })
    expect(await resolve(join(data, "sessions.db"))).toMatchObject({ guarded: true, forbidden: false })
    expect(await resolve(data)).toMatchObject({ guarded: true })
    for (const path of ["notes", "hard", "../data/token", "../data-link/token", "../data/TOKEN"]) {
      expect(await resolve(path), path).toMatchObject({ forbidden: true })
    }
    expect(await resolve("../data/later")).toMatchObject({ forbidden: true, exists: false })
    expect(await resolve("src/main.ts")).toMatchObject({ forbidden: false })
  })

  test.runIf(process.platform === "linux")("resolves the kernel's own links in /proc", async () => {
    await using at = await scene()
    const data = join(at.base, "data")
    await mkdir(data)
    await writeFile(join(data, "token"), "secret")
    const { resolve } = await openWorkspace({ directory: at.root, forbidden: [join(data, "token")] })
    expect(await resolve(`/proc/self/root${data}/token`)).toMatchObject({
      path: join(data, "token"),
      forbidden: true,
    })
    await using file = await open(join(data, "token"))
    expect(await resolve(`/proc/self/fd/${file.fd}`)).toMatchObject({ forbidden: true })
    expect(await resolve(`/dev/fd/${file.fd}`)).toMatchObject({ forbidden: true })
    expect(await resolve("/proc/self/environ")).toMatchObject({ external: true, forbidden: true })
    expect(await resolve(`/proc/${process.ppid}/environ`)).toMatchObject({ forbidden: true })
    expect(await resolve("/proc/thread-self/environ")).toMatchObject({ forbidden: true })
    expect(await resolve("/proc/self/status")).toMatchObject({ external: true, forbidden: false })
  })
})
