import { access, chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { type SnapshotScene, snapshotScene } from "./snapshot-scene.ts"

async function useEverything(scene: SnapshotScene): Promise<void> {
  const before = await scene.take()
  await scene.put({ "a.txt": "changed\n", "b.bin": "new\n" })
  await rm(scene.path("c.txt"))
  const after = await scene.take()
  const files = await scene.snapshots.changed(before, after)
  expect(files).toEqual(["a.txt", "b.bin", "c.txt"])
  await scene.snapshots.diff(before, after)
  expect((await scene.snapshots.restore(before, files)).failed).toEqual([])
  await scene.snapshots.collect(30)
}

describe("the user's repository", () => {
  test("is byte for byte unchanged, whatever snapshots do", async () => {
    await using scene = await snapshotScene({ repository: true })
    await scene.put({ "a.txt": "one\n", "c.txt": "three\n", "staged.txt": "1\n" })
    await scene.git("add", "a.txt", "c.txt")
    await scene.git("commit", "--quiet", "-m", "first")
    await scene.git("add", "staged.txt")
    await scene.put({ "staged.txt": "2\n" })
    const status = await scene.git("status", "--porcelain")
    const before = await scene.everything(scene.path(".git"))
    await useEverything(scene)
    expect(await scene.everything(scene.path(".git"))).toEqual(before)
    expect(await scene.git("status", "--porcelain")).toBe(status)
  })

  test("is not used through git variables of the environment", async () => {
    await using scene = await snapshotScene({ repository: true })
    await scene.put({ "a.txt": "one\n", "c.txt": "three\n" })
    const index = scene.path(".git/other-index")
    const names = [
      "GIT_DIR",
      "GIT_WORK_TREE",
      "GIT_INDEX_FILE",
      "GIT_OBJECT_DIRECTORY",
      "GIT_CONFIG_COUNT",
      "GIT_TRACE",
    ]
    const values = [
      scene.path(".git"),
      scene.base,
      index,
      join(scene.base, "objects"),
      "nonsense",
      join(scene.base, "trace"),
    ]
    const before = await scene.everything(scene.path(".git"))
    try {
      for (const [i, name] of names.entries()) process.env[name] = values[i]
      await useEverything(scene)
    } finally {
      for (const name of names) delete process.env[name]
    }
    expect(await scene.everything(scene.path(".git"))).toEqual(before)
    await expect(access(join(scene.base, "trace"))).rejects.toThrow()
    await expect(access(join(scene.base, "objects"))).rejects.toThrow()
  })
})

describe("a hostile project", () => {
  test("runs no program by its config, hooks or attributes", async () => {
    await using scene = await snapshotScene({ repository: true })
    const proof = join(scene.base, "ran")
    const evil = join(scene.base, "evil")
    await writeFile(evil, `#!/bin/sh\necho "$0 $@" >> '${proof}'\ncat\n`, { mode: 0o755 })
    await scene.put({
      ".gitattributes":
        "* filter=evil diff=evil merge=evil text=auto eol=crlf ident working-tree-encoding=UTF-16\n",
      "a.txt": "one $Id$\n",
      "c.txt": "three\r\n",
      "sub/.gitattributes": "[attr]binary filter=evil\n* binary\n",
    })
    for (const [key, value] of Object.entries({
      "filter.evil.clean": evil,
      "filter.evil.smudge": evil,
      "filter.evil.process": evil,
      "filter.evil.required": "true",
      "diff.evil.command": evil,
      "diff.evil.textconv": evil,
      "core.fsmonitor": evil,
      "core.hooksPath": scene.base,
      "core.pager": evil,
      "core.sshCommand": evil,
      "core.editor": evil,
      "core.alternateRefsCommand": evil,
      "gpg.program": evil,
      "gc.auto": "1",
      "uploadpack.packObjectsHook": evil,
      "diff.external": evil,
    })) {
      await scene.git("config", key, value)
    }
    for (const hook of ["post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"]) {
      await writeFile(scene.path(`.git/hooks/${hook}`), `#!/bin/sh\necho hook >> '${proof}'\n`)
      await chmod(scene.path(`.git/hooks/${hook}`), 0o755)
    }
    await useEverything(scene)
    await expect(access(proof)).rejects.toThrow()
    expect(await scene.text("a.txt")).toBe("one $Id$\n")
    expect(await scene.text("c.txt")).toBe("three\r\n")
  })

  test("runs no program by the user's git config either", async () => {
    await using scene = await snapshotScene()
    const proof = join(scene.base, "ran")
    const home = process.env.HOME
    const config = process.env.XDG_CONFIG_HOME
    const userHome = join(scene.base, "home")
    await mkdir(userHome)
    const text = `[core]\n\tfsmonitor = "touch ${proof}"\n\thooksPath = ${userHome}\n[filter "x"]\n\tclean = "touch ${proof}; cat"\n`
    await writeFile(join(userHome, ".gitconfig"), text)
    await writeFile(join(userHome, "reference-transaction"), `#!/bin/sh\ntouch '${proof}'\n`, { mode: 0o755 })
    await scene.put({ ".gitattributes": "* filter=x\n", "a.txt": "one\n", "c.txt": "three\n" })
    try {
      process.env.HOME = userHome
      delete process.env.XDG_CONFIG_HOME
      await useEverything(scene)
    } finally {
      process.env.HOME = home
      if (config !== undefined) process.env.XDG_CONFIG_HOME = config
    }
    await expect(access(proof)).rejects.toThrow()
  })

  test("cannot provide git by a relative PATH entry or by its own directory", async () => {
    await using scene = await snapshotScene()
    const proof = join(scene.base, "ran")
    await scene.put({ "bin/git": `#!/bin/sh\ntouch '${proof}'\n`, "a.txt": "", "c.txt": "" })
    await chmod(scene.path("bin/git"), 0o755)
    const [path, directory] = [process.env.PATH, process.cwd()]
    try {
      process.chdir(scene.root)
      process.env.PATH = `bin:./bin:${scene.path("bin")}:${path}`
      await scene.take()
    } finally {
      process.env.PATH = path
      process.chdir(directory)
    }
    await expect(access(proof)).rejects.toThrow()
  })

  test("does not break snapshots with names that look like a git directory", async () => {
    await using scene = await snapshotScene()
    await scene.put({
      ".GIT/config": "x",
      "sub/.Git/hooks/x": "x",
      "git~1/x": "x",
      "a.txt": "one\n",
      "c.txt": "three\n",
    })
    await symlink("/etc", scene.path("sub/.gitmodules"))
    await symlink("/etc/passwd", scene.path(".gitignore"))
    await useEverything(scene)
    expect(await scene.text(".GIT/config")).toBe("x")
  })

  test("that points its repository elsewhere gets no content from there into a snapshot", async () => {
    await using scene = await snapshotScene()
    const elsewhere = join(scene.base, "elsewhere")
    await mkdir(join(elsewhere, "info"), { recursive: true })
    await writeFile(join(elsewhere, "HEAD"), "ref: refs/heads/main\n")
    await writeFile(join(elsewhere, "index"), "rubbish")
    await scene.put({
      ".git": `gitdir: ${elsewhere}\n`,
      "a.txt": "one\n",
      "c.txt": "3\n",
      big: Buffer.alloc(3_000_000),
    })
    const before = await scene.everything(elsewhere)
    await useEverything(scene)
    expect(await scene.everything(elsewhere)).toEqual(before)
  })
})
