import { execFile } from "node:child_process"
import { chmod, mkdir, readdir, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { expectHelpful, rejection } from "../support/rejection.ts"
import { snapshotScene } from "./snapshot-scene.ts"

const mebibyte = 1024 * 1024

describe("take", () => {
  test("gives the same id while nothing changes, and another id after a change", async () => {
    await using scene = await snapshotScene()
    await scene.put({ "a.txt": "one\n", "src/b.txt": "two\n" })
    const first = await scene.take()
    expect(await scene.take()).toBe(first)
    expect(await scene.open().take()).toBe(first)
    await scene.put({ "a.txt": "ONE\n" })
    const second = await scene.take()
    expect(second).not.toBe(first)
    await scene.put({ "a.txt": "one\n" })
    expect(await scene.take()).toBe(first)
  })

  test("sees every change, even a quick second change of the same length", async () => {
    await using scene = await snapshotScene()
    const names = new Set<string>()
    for (let i = 10; i < 40; i++) {
      await scene.put({ "a.txt": `${i}\n` })
      names.add(await scene.take())
    }
    expect(names.size).toBe(30)
  })

  test("of an empty directory works", async () => {
    await using scene = await snapshotScene()
    const empty = await scene.take()
    await scene.put({ a: "" })
    expect(await scene.snapshots.changed(empty, await scene.take())).toEqual(["a"])
  })

  test("includes untracked files and leaves out ignored files", async () => {
    await using scene = await snapshotScene({ repository: true })
    const empty = await scene.take()
    await scene.put({
      ".gitignore": "*.log\n/build/\n",
      ".git/info/exclude": "private.txt\n",
      "sub/.gitignore": "!kept.log\n",
      "a.log": "",
      "sub/kept.log": "",
      "sub/other.log": "",
      "build/x": "",
      "private.txt": "",
      "tracked.txt": "",
      "untracked.txt": "",
      ".env": "",
    })
    await scene.git("add", "tracked.txt")
    const names = [".env", ".gitignore", "sub/.gitignore", "sub/kept.log", "tracked.txt", "untracked.txt"]
    expect(await scene.snapshots.changed(empty, await scene.take())).toEqual(names)
  })

  test("leaves out untracked files of 2 MiB or more, but not tracked ones", async () => {
    await using scene = await snapshotScene({ repository: true })
    await scene.put({
      "below.bin": Buffer.alloc(2 * mebibyte - 1, 1),
      "untracked.bin": Buffer.alloc(2 * mebibyte, 1),
      "tracked.bin": Buffer.alloc(3 * mebibyte, 1),
    })
    await scene.git("add", "tracked.bin")
    const taken = await scene.take()
    const files = ["below.bin", "untracked.bin", "tracked.bin"]
    for (const name of files) await rm(scene.path(name))
    expect(await scene.snapshots.restore(taken, files)).toEqual({
      restored: ["below.bin", "tracked.bin"],
      removed: [],
      failed: ["untracked.bin"],
    })
    expect((await stat(scene.path("tracked.bin"))).size).toBe(3 * mebibyte)
  })

  test("includes an ignored file that is tracked", async () => {
    await using scene = await snapshotScene({ repository: true })
    await scene.put({ ".gitignore": "dist/\n", "dist/held": "1", "dist/other": "1" })
    await scene.git("add", "--force", "dist/held")
    const before = await scene.take()
    await scene.put({ "dist/held": "2", "dist/other": "2" })
    expect(await scene.snapshots.changed(before, await scene.take())).toEqual(["dist/held"])
    expect((await scene.snapshots.restore(before, ["dist/held"])).restored).toEqual(["dist/held"])
    expect(await scene.take()).toBe(before)
  })

  test("skips a name that is not UTF-8", async () => {
    await using scene = await snapshotScene()
    const empty = await scene.take()
    await writeFile(Buffer.concat([Buffer.from(`${scene.root}/x`), Buffer.from([0xff])]), "")
    await scene.put({ a: "" })
    expect(await scene.snapshots.changed(empty, await scene.take())).toEqual(["a"])
  })

  test("skips nested repositories, and does not fail on them", async () => {
    await using scene = await snapshotScene({ repository: true })
    const empty = await scene.take()
    await scene.put({ "nested/a": "", "with-commit/a": "", mine: "" })
    await scene.git("init", "--quiet", "nested")
    await scene.git("init", "--quiet", "with-commit")
    await scene.git("-C", "with-commit", "commit", "--quiet", "--allow-empty", "-m", "x")
    const taken = await scene.take()
    expect(await scene.snapshots.changed(empty, taken)).toEqual(["mine"])
    await scene.put({ "nested/a": "changed", "with-commit/a": "changed" })
    expect(await scene.take()).toBe(taken)
  })

  test("covers the whole root for a session in a subdirectory", async () => {
    await using scene = await snapshotScene({ repository: true })
    await scene.put({ "packages/web/a": "1", "packages/api/b": "1" })
    const before = await scene.take()
    await scene.put({ "packages/web/a": "2", "packages/api/b": "2" })
    const names = ["packages/api/b", "packages/web/a"]
    expect(await scene.snapshots.changed(before, await scene.take())).toEqual(names)
  })

  test("without a repository leaves out files that are usually ignored", async () => {
    await using scene = await snapshotScene()
    const empty = await scene.take()
    await scene.put({ "node_modules/x/index.js": "", "a.js": "", "deep/node_modules/y": "" })
    expect(await scene.snapshots.changed(empty, await scene.take())).toEqual(["a.js"])
  })

  test("leaves out Stemma's own directories below the root", async () => {
    await using scene = await snapshotScene()
    const own = scene.path("[data] #1")
    const snapshots = scene.open({ gitDirectory: join(own, "snapshots"), own: [own] })
    const empty = await snapshots.take()
    await scene.put({ "[data] #1/db": "", a: "" })
    expect(await snapshots.changed(empty!, (await snapshots.take())!)).toEqual(["a"])
  })

  test("keeps names with line breaks, quotes and letters of all kinds", async () => {
    await using scene = await snapshotScene()
    const names = [
      ' lead and "quote"',
      "-dash",
      ":(top)x",
      "a\nb",
      "back\\slash",
      "tab\t",
      "ä/日本",
      "😀 ?*[x]",
    ]
    await scene.put(Object.fromEntries(names.map((name) => [name, `${name}\n`])))
    const taken = await scene.take()
    for (const name of names) await scene.put({ [name]: "other\n" })
    const after = await scene.take()
    expect((await scene.snapshots.changed(taken, after)).sort()).toEqual([...names].sort())
    const diffs = await scene.snapshots.diff(taken, after, names)
    expect(diffs.map(({ file, before }) => before === `${file}\n`)).toEqual(names.map(() => true))
    expect((await scene.snapshots.restore(taken, names)).failed).toEqual([])
    for (const name of names) expect(await scene.text(name)).toBe(`${name}\n`)
  })

  test("follows files that become directories or symlinks, and back", async () => {
    await using scene = await snapshotScene()
    await scene.put({ "a/x": "1", b: "1" })
    const first = await scene.take()
    await rm(scene.path("a"), { recursive: true })
    await rm(scene.path("b"))
    await mkdir(join(scene.base, "elsewhere"))
    await writeFile(join(scene.base, "elsewhere", "x"), "not ours")
    await symlink(join(scene.base, "elsewhere"), scene.path("a"))
    await scene.put({ "b/y": "2" })
    const second = await scene.take()
    expect(await scene.snapshots.changed(first, second)).toEqual(["a", "a/x", "b", "b/y"])
    const contents = (await scene.snapshots.diff(first, second)).map(({ after }) => after)
    expect(contents).not.toContain("not ours")
    await rm(scene.path("a"))
    await rm(scene.path("b"), { recursive: true })
    await scene.put({ "a/x": "1", b: "1" })
    expect(await scene.take()).toBe(first)
  })

  test.skipIf(process.getuid?.() === 0)("skips a file without read permission", async () => {
    await using scene = await snapshotScene()
    await scene.put({ a: "1", secret: "1", z: "1" })
    await chmod(scene.path("secret"), 0)
    const taken = await scene.take()
    expect(await scene.take()).toBe(taken)
    expect((await scene.snapshots.restore(taken, ["secret"])).restored).toEqual(["secret"])
  })

  test("skips files behind a directory that became a symlink, and keeps the rest", async () => {
    await using scene = await snapshotScene()
    await scene.put({ "a/x": "1", "a/y": "1", b: "1", c: "1" })
    const first = await scene.take()
    await rename(scene.path("a"), join(scene.base, "moved"))
    await symlink(join(scene.base, "moved"), scene.path("a"))
    await writeFile(join(scene.base, "moved", "x"), "not ours")
    await scene.put({ ".gitignore": "/a\n", b: "2", c: "2" })
    const second = await scene.take()
    expect(await scene.snapshots.changed(first, second)).toEqual(
      expect.arrayContaining([".gitignore", "b", "c"]),
    )
    expect((await scene.snapshots.diff(first, second)).map(({ after }) => after)).not.toContain("not ours")
    expect(await scene.take()).toBe(second)
  })

  test("skips a file that git refuses, and does not treat it as removed", async () => {
    await using scene = await snapshotScene()
    await scene.put({ a: "1", z: "1" })
    await symlink("a", scene.path(".gitmodules"))
    const taken = await scene.take()
    expect(await scene.take()).toBe(taken)
    expect(await scene.open().take()).toBe(taken)
    expect(await scene.snapshots.restore(taken, [".gitmodules"])).toMatchObject({ removed: [] })
    expect(await scene.exists(".gitmodules")).toBe(true)
    await scene.put({ z: "2" })
    expect(await scene.snapshots.changed(taken, await scene.take())).toEqual(["z"])
  })

  test("stops on abort", async () => {
    await using scene = await snapshotScene()
    await scene.put({ a: "1" })
    const reason = new Error("enough")
    expect(await rejection(scene.snapshots.take(AbortSignal.abort(reason)))).toBe(reason)
    expect(scene.snapshots.unavailable).toBeUndefined()
    expect(await scene.take()).toMatch(/^[0-9a-f]{40}$/)
  })
})

describe("two concurrent takes", () => {
  test("in one process see the same files", async () => {
    await using scene = await snapshotScene()
    await scene.put(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`f${i}`, `${i}`])))
    const others = [scene.open(), scene.open(), scene.snapshots]
    const taken = await Promise.all([...others, ...others].map((snapshots) => snapshots.take()))
    expect(new Set(taken).size).toBe(1)
    expect(taken[0]).toBeDefined()
  })

  test("in several processes, while files change, each contain the current files", {
    timeout: 120_000,
  }, async () => {
    await using scene = await snapshotScene()
    await scene.put(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`shared/f${i}`, `${i}`])))
    const code = `
      const { openSnapshots } = await import(${JSON.stringify(new URL("../../src/workspace/snapshot/snapshots.ts", import.meta.url).href)})
      const { writeFile } = await import("node:fs/promises")
      const [root, gitDirectory, me] = process.argv.slice(1)
      const snapshots = openSnapshots({ root, gitDirectory })
      for (let i = 0; i < 12; i++) {
        await writeFile(root + "/" + me, String(i))
        const taken = await snapshots.take()
        if (taken === undefined) throw new Error(snapshots.unavailable)
        console.log(taken)
      }`
    const run = (me: string) =>
      promisify(execFile)(process.execPath, [
        "--input-type=module",
        "-e",
        code,
        scene.root,
        scene.gitDirectory,
        me,
      ])
    const outputs = await Promise.all(["p", "q", "r"].map(run))
    const last = await scene.take()
    for (const [index, { stdout }] of outputs.entries()) {
      const me = ["p", "q", "r"][index]!
      for (const [i, taken] of stdout.trim().split("\n").entries()) {
        const diffs = await scene.snapshots.diff(last, taken)
        const mine = diffs.find(({ file }) => file === me)
        expect(mine?.after ?? "11").toBe(String(i))
        expect(diffs.filter(({ file }) => file.startsWith("shared/"))).toEqual([])
      }
    }
    const left = (await readdir(scene.gitDirectory)).filter((name) => /^(index-|taken-)/.test(name))
    expect(left).toEqual([])
  })

  test("a lock file left by a crash does not block snapshots", async () => {
    await using scene = await snapshotScene()
    await scene.put({ a: "1" })
    await scene.take()
    const lock = join(scene.gitDirectory, "index.lock")
    await writeFile(lock, "")
    await scene.put({ a: "2" })
    const taken = await scene.take()
    expect(await scene.open().take()).toBe(taken)
  })

  test("a damaged or missing index is rebuilt", async () => {
    await using scene = await snapshotScene()
    await scene.put({ a: "1", b: "2" })
    const taken = await scene.take()
    await writeFile(join(scene.gitDirectory, "index"), "rubbish")
    expect(await scene.take()).toBe(taken)
    await writeFile(join(scene.gitDirectory, "index"), "")
    expect(await scene.open().take()).toBe(taken)
    await rm(join(scene.gitDirectory, "index"))
    expect(await scene.take()).toBe(taken)
  })
})

describe("diff", () => {
  test("returns contents and line counts, for all files or for some", async () => {
    await using scene = await snapshotScene()
    await scene.put({ a: "1\n2\n3\n", gone: "x\ny\n", same: "s\n", binary: Buffer.from([0, 1]) })
    const from = await scene.take()
    await scene.put({ a: "1\nzwei\n3\n4\n", new: "n\n", binary: Buffer.from([0, 2]) })
    await rm(scene.path("gone"))
    const to = await scene.take()
    const a = { file: "a", before: "1\n2\n3\n", after: "1\nzwei\n3\n4\n", additions: 2, deletions: 1 }
    expect(await scene.snapshots.diff(from, to)).toEqual([
      a,
      { file: "binary", before: "", after: "", additions: 0, deletions: 0 },
      { file: "gone", before: "x\ny\n", after: "", additions: 0, deletions: 2 },
      { file: "new", before: "", after: "n\n", additions: 1, deletions: 0 },
    ])
    expect(await scene.snapshots.diff(from, to, ["a", "same", "none"])).toEqual([a])
    expect(await scene.snapshots.diff(from, to, [])).toEqual([])
    expect(await scene.snapshots.diff(from, from)).toEqual([])
  })

  test("returns no contents over 1 MiB, but counts the lines", async () => {
    await using scene = await snapshotScene()
    const from = await scene.take()
    await scene.put({ long: "0123456789\n".repeat(100_000), short: "0\n" })
    const [long, short] = await scene.snapshots.diff(from, await scene.take())
    expect(long).toEqual({ file: "long", before: "", after: "", additions: 100_000, deletions: 0 })
    expect(short?.after).toBe("0\n")
  })

  test("of a file that was left out has no contents and no counts", async () => {
    await using scene = await snapshotScene()
    const from = await scene.take()
    await scene.put({ big: "0\n".repeat(2 * mebibyte) })
    const big = { file: "big", before: "", after: "", additions: 0, deletions: 0 }
    expect(await scene.snapshots.diff(from, await scene.take())).toEqual([big])
  })

  test("treats text as text, whatever attributes say", async () => {
    await using scene = await snapshotScene()
    await scene.put({ ".gitattributes": "*.lock binary\n" })
    const from = await scene.take()
    await scene.put({ "a.lock": "1\n2\n" })
    expect((await scene.snapshots.diff(from, await scene.take()))[0]).toMatchObject({
      additions: 2,
      after: "1\n2\n",
    })
  })

  test("refuses an invalid snapshot id, and a snapshot that no longer exists", async () => {
    await using scene = await snapshotScene()
    const taken = await scene.take()
    for (const wrong of ["", "--output=/tmp/x", "HEAD", "0".repeat(39)]) {
      expectHelpful(await rejection(scene.snapshots.changed(wrong, taken)), "invalid")
    }
    const gone = "1".repeat(40)
    expectHelpful(await rejection(scene.snapshots.changed(gone, taken)), "not_found")
    expectHelpful(await rejection(scene.snapshots.diff(taken, gone)), "not_found")
    expectHelpful(await rejection(scene.snapshots.restore(gone, ["a"])), "not_found")
  })
})

describe("snapshots are unavailable", () => {
  test("without git, and the reason is reported", async () => {
    await using scene = await snapshotScene()
    const path = process.env.PATH
    try {
      process.env.PATH = scene.base
      expect(await scene.snapshots.take()).toBeUndefined()
      expect(scene.snapshots.unavailable).toMatch(/Files are not restored: git was not found/)
      expectHelpful(await rejection(scene.snapshots.restore("1".repeat(40), ["a"])), "unavailable")
    } finally {
      process.env.PATH = path
    }
  })

  test("with a git that is too old", async () => {
    await using scene = await snapshotScene()
    const old = join(scene.base, "old-git")
    await writeFile(old, "#!/bin/sh\necho git version 2.11.0\n", { mode: 0o755 })
    const snapshots = scene.open({ git: old })
    expect(await snapshots.take()).toBeUndefined()
    expect(snapshots.unavailable).toMatch(/2\.11 is too old/)
  })

  test("for a project that takes too long, from then on", async () => {
    await using scene = await snapshotScene()
    await scene.take()
    const slow = join(scene.base, "slow-git")
    await writeFile(slow, "#!/bin/sh\nsleep 600\n", { mode: 0o755 })
    const snapshots = scene.open({ git: slow, timeoutMs: 200 })
    expect(await snapshots.take()).toBeUndefined()
    expect(snapshots.unavailable).toMatch(/takes more than/)
    expect(await snapshots.take()).toBeUndefined()
  })

  test("for a whole home directory", async () => {
    await using scene = await snapshotScene()
    const home = process.env.HOME
    try {
      process.env.HOME = scene.root
      expect(homedir()).toBe(scene.root)
      expect(await scene.snapshots.take()).toBeUndefined()
      expect(scene.snapshots.unavailable).toMatch(/home directory/)
    } finally {
      process.env.HOME = home
    }
  })

  test("while the root is missing, and available again when it is back", async () => {
    await using scene = await snapshotScene()
    await rename(scene.root, `${scene.root}-away`)
    expect(await scene.snapshots.take()).toBeUndefined()
    expect(scene.snapshots.unavailable).toMatch(/^Files are not restored: /)
    await rename(`${scene.root}-away`, scene.root)
    expect(await scene.take()).toBeDefined()
    expect(scene.snapshots.unavailable).toBeUndefined()
  })
})

describe("collect", () => {
  test("removes old snapshots and keeps the others intact", async () => {
    await using scene = await snapshotScene()
    await scene.put({ a: "old\n", b: "1\n" })
    const old = await scene.take()
    await scene.put({ a: "middle\n" })
    const middle = await scene.take()
    await scene.put({ a: "new\n" })
    const current = await scene.take()
    const past = new Date(Date.now() - 40 * 24 * 60 * 60 * 1000)
    for (const name of await readdir(join(scene.gitDirectory, "objects"), { recursive: true })) {
      await utimes(join(scene.gitDirectory, "objects", name), past, past)
    }
    await utimes(join(scene.gitDirectory, "refs", "taken", old), past, past)
    await scene.snapshots.collect(30)
    expectHelpful(await rejection(scene.snapshots.changed(old, current)), "not_found")
    expect(await scene.snapshots.diff(middle, current)).toMatchObject([
      { before: "middle\n", after: "new\n" },
    ])
    expect(await scene.take()).toBe(current)
    await scene.put({ a: "old\n" })
    expect(await scene.take()).toBe(old)
    expect(await scene.snapshots.diff(old, middle)).toMatchObject([{ before: "old\n", after: "middle\n" }])
  })

  test("does nothing if there never was a snapshot", async () => {
    await using scene = await snapshotScene()
    await scene.snapshots.collect(30)
    expect(await readdir(scene.base)).toEqual(["project"])
  })
})
