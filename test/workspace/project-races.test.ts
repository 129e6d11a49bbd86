import { readdirSync, readFileSync } from "node:fs"
import { chmod, mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { beforeEach, describe, expect, test, vi } from "vitest"
import { openWorkspace } from "../../src/workspace/path/paths.ts"
import { configScene } from "../config/config-scene.ts"
import { type DirectorySwap, swapBack, swapOut } from "../support/directory-swap.ts"
import { opencodeScene } from "../support/server/opencode-scene.ts"
import { putFiles } from "../support/tool-context.ts"
import { calls, ignoreCalls } from "../support/watched-calls.ts"
import { snapshotScene } from "./snapshot-scene.ts"

vi.mock("node:fs/promises", async (original) => {
  const { watchedFileSystem } = await import("../support/watched-calls.ts")
  return watchedFileSystem(await original<object>())
})
vi.mock("node:child_process", async (original) => {
  const { watchedProcesses } = await import("../support/watched-calls.ts")
  return watchedProcesses(await original())
})

beforeEach(ignoreCalls)

/** Repeats a call, and replaces the directory before its first, second, third ... call to the file system. */
async function sweep(
  swap: DirectorySwap,
  { length, call }: { length: number; call: () => Promise<unknown> },
): Promise<void> {
  for (let first = 0, total = 1; first < total; first++) {
    let count = 0
    calls.beforeFileCall = () => {
      if (count === first) swapOut(swap)
      if (count === first + length) swapBack(swap)
      count++
    }
    const shown = await call().catch((error: unknown) => String(error))
    ignoreCalls()
    swapBack(swap)
    total = Math.max(total, count)
    expect(JSON.stringify(shown) ?? "").not.toContain("SECRET")
  }
}

function namesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()
}

const lengths = [
  ["and put back before the next call", 1],
  ["and put back before the third call", 3],
  ["and stays replaced", Number.POSITIVE_INFINITY],
] as const

describe.each(lengths)(
  "a directory is replaced by a symlink before any call to the file system %s",
  (_, length) => {
    test("instructions, config and skills of a project come from the project only", async () => {
      await using at = await configScene()
      const outside = join(at.data, "outside")
      const filesOf = (text: string) => ({ "AGENTS.md": text, "skills/a/SKILL.md": skill(text) })
      await putFiles(join(at.project, ".stemma"), filesOf("tea"))
      await putFiles(outside, filesOf("SECRET"))
      const config = { instructions: [".stemma/AGENTS.md"] }
      await at.write({ "project/stemma.json": config })
      await at.open().trust()
      await sweep(
        { directory: join(at.project, ".stemma"), outside },
        {
          length,
          async call() {
            const { instructions, skills } = await at.open().current()
            return { instructions, skills }
          },
        },
      )
    })

    test("a directory that is open keeps its config, and is refused while it leads elsewhere", async () => {
      await using at = await configScene()
      const outside = join(at.data, "outside")
      await putFiles(at.project, { ".git/HEAD": "ref: refs/heads/main\n", "sub/AGENTS.md": "tea\n" })
      await putFiles(outside, { "AGENTS.md": "SECRET\n" })
      const source = at.open({ directory: join(at.project, "sub") })
      const { instructions } = await source.current()
      expect(instructions).toMatchObject([{ text: "tea\n" }])
      const call = async () => (await source.current()).instructions
      await sweep({ directory: join(at.project, "sub"), outside }, { length, call })
      expect(await call()).toMatchObject([{ text: "tea\n" }])
    })

    test("an attached file is the file of the project", async () => {
      await using at = await opencodeScene({ files: { "sub/a.txt": "tea\n" } })
      const outside = join(at.data, "outside")
      await putFiles(outside, { "a.txt": "SECRET\n" })
      const url = pathToFileURL(join(at.directory, "sub/a.txt")).href
      const workspace = await openWorkspace({ directory: at.directory })
      const part = { id: "prt_01jgxy0000000000000000test", type: "file" as const, mime: "text/plain", url }
      const call = async () => {
        const [stored] = await at.stemma.sessions.storeFiles([part], { workspace, decide: () => "allow" })
        if (stored?.type !== "file") throw new Error("There is no file.")
        return Buffer.from(await at.stemma.store.blobs.get(stored.url.slice("blob:".length))).toString()
      }
      expect(await call()).toBe("tea\n")
      await sweep({ directory: join(at.directory, "sub"), outside }, { length, call })
    })

    test("the OpenCode routes read and list the project only", async () => {
      await using at = await opencodeScene({ files: { "sub/deep/a.txt": "tea\n" } })
      const outside = join(at.data, "outside")
      await putFiles(outside, { "deep/a.txt": "SECRET\n", "deep/SECRET.txt": "x" })
      const { client, directory } = at
      await client.file.list({ directory, path: "sub" })
      const swap = { directory: join(directory, "sub"), outside }
      await sweep(swap, { length, call: () => client.file.read({ directory, path: "sub/deep/a.txt" }) })
      await sweep(swap, { length, call: () => client.file.list({ directory, path: "sub/deep" }) })
    })

    test("a restore changes the project only", async () => {
      await using at = await snapshotScene()
      const outside = join(at.base, "outside")
      const secrets = {
        "deep/old.txt": "SECRET old\n",
        "deep/new.txt": "SECRET new\n",
        "deep/gone.txt": "SECRET\n",
      }
      await putFiles(outside, secrets)
      await at.put({
        "sub/deep/old.txt": "tea\n",
        "sub/deep/made/gone.txt": "tea\n",
        "sub/deep/gone.txt": "tea\n",
      })
      const taken = await at.take()
      const files = ["sub/deep/old.txt", "sub/deep/made/gone.txt", "sub/deep/gone.txt", "sub/deep/new.txt"]
      const swap = { directory: at.path("sub"), outside }
      await sweep(swap, {
        length,
        async call() {
          const run = calls.beforeFileCall
          ignoreCalls()
          await rm(at.path("sub"), { recursive: true })
          await at.put({ "sub/deep/old.txt": "coffee\n", "sub/deep/new.txt": "coffee\n" })
          calls.beforeFileCall = run
          return at.snapshots.restore(taken, files)
        },
      })
      expect(namesBelow(outside)).toEqual(["deep", ...Object.keys(secrets)].sort())
      for (const [name, text] of Object.entries(secrets))
        expect(readFileSync(join(outside, name), "utf8")).toBe(text)
      expect(namesBelow(at.root).filter((name) => name.includes(".stemma-"))).toEqual([])
      await at.snapshots.restore(taken, files)
      expect(namesBelow(at.path("sub/deep"))).toEqual(["gone.txt", "made", "made/gone.txt", "old.txt"])
    })
  },
)

function skill(text: string): string {
  return `---\ndescription: ${text}\n---\n${text}\n`
}

test("the OpenCode search shows no line and no name from outside while a directory is a symlink", async () => {
  await using at = await opencodeScene({ files: { "sub/deep/a.txt": "tea\n", "sub/deep/b.txt": "tea\n" } })
  const outside = join(at.data, "outside")
  await putFiles(outside, {
    "deep/a.txt": "tea SECRET\n",
    "deep/b.txt": "tea SECRET\n",
    "deep/SECRET.txt": "tea\n",
  })
  const { client, directory } = at
  // The session's directory is the one that is replaced: ripgrep runs in it.
  const sub = join(directory, "sub/deep")
  const swap = { directory: join(directory, "sub"), outside }
  await client.file.list({ directory: sub, path: "" })
  for (const call of [
    () => client.find.text({ directory: sub, pattern: "tea" }),
    () => client.find.files({ directory: sub, query: "" }),
  ]) {
    calls.beforeProcess = () => swapOut(swap)
    calls.afterProcess = () => swapBack(swap)
    expect(JSON.stringify((await call()).data ?? "")).not.toContain("SECRET")
    ignoreCalls()
  }
  const found = await client.find.text({ directory: sub, pattern: "tea" })
  expect(found.data?.map(({ path }) => path.text).sort()).toEqual(["a.txt", "b.txt"])
})

test("a snapshot has the content of the project if git read other files for a moment", async () => {
  await using at = await snapshotScene()
  await at.put({ "sub/a.txt": "tea\n", "sub/b.sh": "tea\n", "sub/deep/c.txt": "tea\n", "top.txt": "tea\n" })
  await putFiles(at.base, {
    "other/a.txt": "SECRET\n",
    "other/b.sh": "SECRET\n",
    "other/deep/c.txt": "SECRET\n",
    git: [
      "#!/bin/bash",
      'if [[ " $* " == *" update-index "*" --stdin "* ]]; then',
      `  cd '${at.root}' && mv sub moved && cp -r ../other sub && git "$@"; code=$?`,
      "  rm -r sub && mv moved sub && exit $code",
      "fi",
      'exec git "$@"',
    ].join("\n"),
  })
  await chmod(join(at.base, "git"), 0o755)
  await mkdir(at.path("empty"))
  const snapshots = at.open({ git: join(at.base, "git") })
  const taken = await snapshots.take()
  expect(snapshots.unavailable).toBeUndefined()
  await writeFile(at.path("top.txt"), "coffee\n")
  await rm(at.path("sub"), { recursive: true })
  const later = await at.take()
  const differences = await at.snapshots.diff(taken!, later)
  expect(JSON.stringify(differences)).not.toContain("SECRET")
  expect(differences.map(({ file, before }) => [file, before]).sort()).toEqual([
    ["sub/a.txt", "tea\n"],
    ["sub/b.sh", "tea\n"],
    ["sub/deep/c.txt", "tea\n"],
    ["top.txt", "tea\n"],
  ])
})
