import {
  chmod,
  link,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { snapshotScene } from "./snapshot-scene.ts"

describe("restore", () => {
  test("restores exactly the named files", async () => {
    await using scene = await snapshotScene({ repository: true })
    await scene.put({ "src/a": "1", "src/b": "1", deleted: "1" })
    const taken = await scene.take()
    await scene.put({ "src/a": "2", "src/b": "2", "new/deep/x": "2", "new/kept": "2", "other/y": "2" })
    await rm(scene.path("deleted"))
    expect(await scene.snapshots.restore(taken, ["src/a", "deleted", "new/deep/x", "other/y"])).toEqual({
      restored: ["src/a", "deleted"],
      removed: ["new/deep/x", "other/y"],
      failed: [],
    })
    expect(await scene.text("src/a")).toBe("1")
    expect(await scene.text("deleted")).toBe("1")
    expect(await scene.text("src/b")).toBe("2")
    expect(await scene.text("new/kept")).toBe("2")
    expect((await readdir(scene.root)).sort()).toEqual([".git", "deleted", "new", "src"])
    expect(await readdir(scene.path("new"))).toEqual(["kept"])
  })

  test("goes back and forth", async () => {
    await using scene = await snapshotScene()
    await scene.put({ a: "1", "dir/b": "1", "x/y/z": "1" })
    const before = await scene.take()
    await rm(scene.path("dir"), { recursive: true })
    await rm(scene.path("x"), { recursive: true })
    await scene.put({ a: "2", dir: "now a file", "c/d": "2" })
    const after = await scene.take()
    const files = await scene.snapshots.changed(before, after)
    for (const name of [before, after, before]) {
      expect((await scene.snapshots.restore(name, files)).failed).toEqual([])
      expect(await scene.take()).toBe(name)
    }
  })

  test("keeps bytes, the executable bit and symlinks", async () => {
    await using scene = await snapshotScene()
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256))
    await scene.put({ bytes, "run.sh": "#!/bin/sh\n", plain: "x", crlf: "a\r\nb\r\n" })
    await chmod(scene.path("run.sh"), 0o755)
    await chmod(scene.path("plain"), 0o600)
    await symlink("plain", scene.path("link"))
    await symlink("/nowhere/at/all", scene.path("dangling"))
    const taken = await scene.take()
    const files = ["bytes", "run.sh", "plain", "link", "dangling", "crlf"]
    await scene.put({ bytes: "", plain: "y", crlf: "a\nb\n" })
    await chmod(scene.path("plain"), 0o700)
    await rm(scene.path("run.sh"))
    await rm(scene.path("link"))
    await rm(scene.path("dangling"))
    await scene.put({ link: "a file now" })
    expect((await scene.snapshots.restore(taken, files)).restored).toEqual(files)
    expect(await readFile(scene.path("bytes"))).toEqual(bytes)
    expect((await stat(scene.path("run.sh"))).mode & 0o111).not.toBe(0)
    expect((await stat(scene.path("plain"))).mode & 0o777).toBe(0o600)
    expect(await readlink(scene.path("link"))).toBe("plain")
    expect(await readlink(scene.path("dangling"))).toBe("/nowhere/at/all")
    expect(await scene.text("crlf")).toBe("a\r\nb\r\n")
    expect(await scene.take()).toBe(taken)
  })

  test("does not touch an unchanged file", async () => {
    await using scene = await snapshotScene()
    await scene.put({ a: "1" })
    const taken = await scene.take()
    const before = await stat(scene.path("a"), { bigint: true })
    expect((await scene.snapshots.restore(taken, ["a"])).restored).toEqual(["a"])
    expect((await stat(scene.path("a"), { bigint: true })).ctimeNs).toBe(before.ctimeNs)
  })

  test("never writes or removes anything through a symlinked directory", async () => {
    await using scene = await snapshotScene()
    const outside = join(scene.base, "outside")
    await mkdir(outside)
    await scene.put({ "dir/deep/a": "1" })
    const taken = await scene.take()
    await scene.put({ "dir/deep/new": "2" })
    await rm(scene.path("dir"), { recursive: true })
    await mkdir(join(outside, "deep"))
    await writeFile(join(outside, "deep", "a"), "theirs")
    await writeFile(join(outside, "deep", "new"), "theirs")
    await symlink(outside, scene.path("dir"))
    const before = await scene.everything(outside)
    expect(await scene.snapshots.restore(taken, ["dir/deep/a", "dir/deep/new", "dir/other/x"])).toEqual({
      restored: [],
      removed: [],
      failed: ["dir/deep/a", "dir/deep/new", "dir/other/x"],
    })
    expect(await scene.everything(outside)).toEqual(before)
    // If the symlink is among the files, it is removed, and the original directory is restored.
    expect(await scene.snapshots.restore(taken, ["dir", "dir/deep/a"])).toMatchObject({ failed: [] })
    expect(await scene.text("dir/deep/a")).toBe("1")
    expect(await scene.everything(outside)).toEqual(before)
  })

  test("replaces a symlink and a hard link instead of writing through them", async () => {
    await using scene = await snapshotScene()
    const theirs = join(scene.base, "theirs")
    await writeFile(theirs, "theirs")
    await scene.put({ a: "1", b: "1" })
    const taken = await scene.take()
    await rm(scene.path("a"))
    await rm(scene.path("b"))
    await symlink(theirs, scene.path("a"))
    await link(theirs, scene.path("b"))
    expect((await scene.snapshots.restore(taken, ["a", "b"])).restored).toEqual(["a", "b"])
    expect(await readFile(theirs, "utf8")).toBe("theirs")
    expect([await scene.text("a"), await scene.text("b")]).toEqual(["1", "1"])
  })

  test("refuses names that lead out of the root or into a git directory", async () => {
    await using scene = await snapshotScene({ repository: true })
    await writeFile(join(scene.base, "victim"), "theirs")
    const taken = await scene.take()
    const names = [
      "../victim",
      "a/../../victim",
      join(scene.base, "victim"),
      ".git/config",
      ".GIT/HEAD",
      "",
      ".",
      "a\0b",
    ]
    const outcome = await scene.snapshots.restore(taken, names)
    expect(outcome).toEqual({ restored: [], removed: [], failed: names })
    expect(await readFile(join(scene.base, "victim"), "utf8")).toBe("theirs")
    expect(await scene.exists(".git/config")).toBe(true)
  })

  test("does not remove a directory that contains other files", async () => {
    await using scene = await snapshotScene()
    await scene.put({ thing: "a file" })
    const taken = await scene.take()
    await rm(scene.path("thing"))
    await scene.put({ "thing/mine": "1", "thing/new": "1" })
    expect(await scene.snapshots.restore(taken, ["thing", "thing/new"])).toEqual({
      restored: [],
      removed: ["thing/new"],
      failed: ["thing"],
    })
    expect(await scene.text("thing/mine")).toBe("1")
    expect((await readdir(scene.root)).sort()).toEqual(["thing"])
  })

  test("does not remove files that the snapshot left out as ignored", async () => {
    await using scene = await snapshotScene()
    await scene.put({ ".gitignore": "data/\n", "data/precious": "1", a: "1" })
    const before = await scene.take()
    await scene.put({ ".gitignore": "" })
    const after = await scene.take()
    const files = await scene.snapshots.changed(before, after)
    expect(files).toEqual([".gitignore", "data/precious"])
    expect(await scene.snapshots.restore(before, files)).toEqual({
      restored: [".gitignore"],
      removed: [],
      failed: ["data/precious"],
    })
    expect(await scene.text("data/precious")).toBe("1")
  })

  test("does not remove a file that the snapshot left out as too large, and reports that it cannot restore it", async () => {
    await using scene = await snapshotScene()
    await scene.put({ big: Buffer.alloc(3 * 1024 * 1024) })
    const before = await scene.take()
    expect(await scene.take()).toBe(before)
    expect(await scene.open().take()).toBe(before)
    expect((await scene.snapshots.restore(before, ["big"])).restored).toEqual(["big"])
    await scene.put({ big: "small now" })
    const after = await scene.take()
    expect(await scene.snapshots.changed(before, after)).toEqual(["big"])
    expect(await scene.snapshots.restore(before, ["big"])).toEqual({
      restored: [],
      removed: [],
      failed: ["big"],
    })
    expect(await scene.text("big")).toBe("small now")
    await scene.put({ big: Buffer.alloc(3 * 1024 * 1024) })
    expect(await scene.snapshots.changed(after, await scene.take())).toEqual(["big"])
    expect((await scene.snapshots.restore(after, ["big"])).restored).toEqual(["big"])
    expect(await scene.text("big")).toBe("small now")
  })

  test("reports the same for files that are already gone, and leaves no temporary files", async () => {
    await using scene = await snapshotScene()
    const taken = await scene.take()
    expect(await scene.snapshots.restore(taken, ["never", "was/there"])).toMatchObject({
      removed: ["never", "was/there"],
    })
    expect(await readdir(scene.root)).toEqual([])
  })
})
