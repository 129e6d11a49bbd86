import { constants } from "node:fs"
import { chmod, link, mkdir, readdir, readFile, realpath, rename, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { type HeldDirectory, type HoldOptions, ReplacedError } from "../../src/system/held-directory.ts"
import { holdByName } from "../../src/system/hold-by-name.ts"
import { holdDirectory } from "../../src/system/hold-directory.ts"
import { type DirectorySwap, swapBack, swapOut } from "../support/directory-swap.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL

interface Scene extends AsyncDisposable {
  base: string
  /** Replaces `project/a` by a symlink to `outside`. Both have the directory `b` with the file `f`. */
  swap: DirectorySwap
  inner: string
  outer: string
}

async function scene(): Promise<Scene> {
  const temporary = await temporaryDirectory()
  const base = await realpath(temporary.path)
  const swap = { directory: join(base, "project/a"), outside: join(base, "outside") }
  const [inner, outer] = [join(swap.directory, "b"), join(swap.outside, "b")]
  for (const [directory, text] of [
    [inner, "inside"],
    [outer, "outside"],
  ] as const) {
    await mkdir(directory, { recursive: true })
    await writeFile(join(directory, "f"), text)
  }
  return { base, swap, inner, outer, [Symbol.asyncDispose]: () => temporary[Symbol.asyncDispose]() }
}

async function textOf(held: HeldDirectory, name: string): Promise<string> {
  await using handle = await held.open(name, constants.O_RDONLY)
  return await handle.readFile("utf8")
}

type Hold = (path: string, options?: HoldOptions) => Promise<HeldDirectory>
const ways: [string, Hold][] = [
  ["the directory is held", holdDirectory],
  ["the directory is held by its name", holdByName],
]

describe.each(ways)("%s", (_, hold) => {
  test("its entries are opened, made, looked at and removed", async () => {
    await using at = await scene()
    await using held = await hold(at.inner)
    expect(await textOf(held, "f")).toBe("inside")
    expect(await held.stats("none")).toBeUndefined()
    await (await held.open("new", newFile, 0o600)).close()
    expect((await held.stats("new"))?.mode).toBe(0o100600)
    await rename(held.entry("new"), held.entry("renamed"))
    await link(held.entry("renamed"), held.entry("linked"))
    expect((await readdir(held.self)).sort()).toEqual(["f", "linked", "renamed"])
    await held.check()
  })

  test("a path through a symlink is refused, whichever part is the symlink", async () => {
    await using at = await scene()
    swapOut(at.swap)
    await expect(hold(at.inner)).rejects.toThrow(ReplacedError)
    await expect(hold(join(at.inner, "new"), { create: true })).rejects.toThrow()
    await expect(hold(at.swap.directory)).rejects.toThrow()
    expect(await readdir(at.outer)).toEqual(["f"])
  })

  test("a symlink is not followed by open", async () => {
    await using at = await scene()
    await symlink(join(at.outer, "f"), join(at.inner, "link"))
    await using held = await hold(at.inner)
    await expect(held.open("link", constants.O_RDONLY)).rejects.toThrow(/ELOOP/)
    await expect(held.open("link", newFile)).rejects.toThrow(/EEXIST/)
    expect((await held.stats("link"))?.isSymbolicLink()).toBe(true)
  })

  test("its check fails after it was replaced, and succeeds after it was put back", async () => {
    await using at = await scene()
    await using held = await hold(at.inner)
    swapOut(at.swap)
    await expect(held.check()).rejects.toThrow(ReplacedError)
    swapBack(at.swap)
    await held.check()
  })

  test("missing directories are made on request only", async () => {
    await using at = await scene()
    const path = join(at.inner, "x/y/z")
    await expect(hold(path)).rejects.toThrow(/ENOENT/)
    await using held = await hold(path, { create: true })
    expect(held.path).toBe(path)
    await using again = await hold(path, { create: true })
    expect(await again.stats("f")).toBeUndefined()
    await expect(hold(join(at.inner, "f/x"), { create: true })).rejects.toThrow(
      /ENOTDIR|ReplacedError|replaced/,
    )
  })

  test.each(["", ".", "..", "a/b", "/etc"])("%j is not the name of an entry", async (name) => {
    await using at = await scene()
    await using held = await hold(at.inner)
    expect(() => held.entry(name)).toThrow("not the name of an entry")
  })

  test("the root directory can be held", async () => {
    await using held = await hold("/")
    expect((await held.stats("usr"))?.isDirectory()).toBe(true)
  })
})

test("a held directory stays the same directory while another one has its path", async () => {
  await using at = await scene()
  await using held = await holdDirectory(at.inner)
  swapOut(at.swap)
  expect(await textOf(held, "f")).toBe("inside")
  await using made = await held.open("new", newFile)
  await made.writeFile("text")
  await rename(held.entry("new"), held.entry("renamed"))
  expect(await readdir(at.outer)).toEqual(["f"])
  swapBack(at.swap)
  expect(await readFile(join(at.inner, "renamed"), "utf8")).toBe("text")
})

test("a directory that may be searched but not listed can be held", async () => {
  await using at = await scene()
  await chmod(at.inner, 0o311)
  await using held = await holdDirectory(at.inner)
  expect(await textOf(held, "f")).toBe("inside")
  await chmod(at.inner, 0o755)
})

test("where directories are held by name, a file that was made in the wrong directory is removed", async () => {
  await using at = await scene()
  await using held = await holdByName(at.inner)
  const opening = held.open("new", newFile)
  // The check before the open has begun, so the replacement falls between it and the open.
  swapOut(at.swap)
  await expect(opening).rejects.toThrow()
  expect(await readdir(at.outer)).toEqual(["f"])
})

test("nothing stays open after a directory is released or refused", async () => {
  await using at = await scene()
  const openFiles = async () => (await readdir("/proc/self/fd")).length
  const before = await openFiles()
  for (let round = 0; round < 50; round++) {
    await using held = await holdDirectory(at.inner)
    await (await held.open("f", constants.O_RDONLY)).close()
    await expect(holdDirectory(join(at.inner, "f"))).rejects.toThrow(/ENOTDIR/)
  }
  swapOut(at.swap)
  for (let round = 0; round < 50; round++)
    await expect(holdDirectory(at.inner)).rejects.toThrow(ReplacedError)
  expect(await openFiles()).toBeLessThan(before + 25)
})
