import { mkdir, realpath, stat, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { openWorkspace } from "../../src/workspace/path/paths.ts"
import { realPath } from "../../src/workspace/path/real-path.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const name = fc.constantFrom("a", "b", "c", "d")
const step = fc.oneof(
  { weight: 4, arbitrary: name },
  { weight: 2, arbitrary: fc.constantFrom("..", ".", "") },
)
const route = fc.array(step, { minLength: 1, maxLength: 7 }).map((steps) => steps.join("/"))

interface Node {
  at: string[]
  kind: "file" | "directory" | "link"
  target: string
  absolute: boolean
}

const node: fc.Arbitrary<Node> = fc.record({
  at: fc.array(name, { minLength: 1, maxLength: 3 }),
  kind: fc.constantFrom("file", "directory", "link", "link"),
  target: route,
  absolute: fc.boolean(),
})

/**
 * Creates the nodes that can be created. Nodes that collide, whose parent does not exist, or that a symlink would put
 * outside the base are skipped.
 */
async function plant(base: string, nodes: readonly Node[]): Promise<void> {
  for (const { at, kind, target, absolute } of nodes) {
    const path = join(base, ...at)
    if (!(await makeDirectory(dirname(path), base))) continue
    const made = async () => {
      if (kind === "file") await writeFile(path, "", { flag: "wx" })
      else if (kind === "directory") await mkdir(path)
      else await symlink(absolute ? `${base}/${target}` : target || ".", path)
    }
    await made().catch(() => {})
  }
}

/**
 * Returns true if the directory exists inside the base. Creates one component at a time, because no component may be
 * behind a symlink.
 */
async function makeDirectory(path: string, base: string): Promise<boolean> {
  if (path === base) return true
  if (!path.startsWith(`${base}/`) || !(await makeDirectory(dirname(path), base))) return false
  await mkdir(path).catch(() => {})
  const real = await realpath(path).catch(() => "")
  return real === path && (await stat(path)).isDirectory()
}

/** Deep enough that paths that lead out of it mostly stay in the temporary directory. */
async function deepDirectory(temporary: string): Promise<string> {
  const path = join(await realpath(temporary), "a", "b", "c")
  await mkdir(path, { recursive: true })
  return path
}

async function deepestExisting(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const found = await realpath(at).catch(() => undefined)
    if (found !== undefined) return found
  }
}

describe("realPath", () => {
  test("resolves as the kernel does, in any tree of symlinks", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(node, { maxLength: 14 }),
        fc.array(route, { minLength: 8, maxLength: 8 }),
        async (nodes, routes) => {
          await using temporary = await temporaryDirectory()
          const base = await deepDirectory(temporary.path)
          await plant(base, nodes)
          for (const way of routes) {
            const path = `${base}/${way}`
            const expected = await realpath(path).then(
              (found) => ({ found }),
              (error: NodeJS.ErrnoException) => ({ code: error.code }),
            )
            const got = await realPath(path).catch((error: Error) => error)
            if ("found" in expected) {
              expect(got).toMatchObject({ path: expected.found, opaque: false })
              expect((got as { stats: unknown }).stats).toBeDefined()
            } else if (got instanceof Error) {
              expect(got.message).toMatch(/symlinks/)
            } else {
              // No existing component of the path is a symlink.
              const existing = await deepestExisting(got.path)
              expect(
                got.path === existing || got.path.startsWith(existing === "/" ? "/" : `${existing}/`),
              ).toBe(true)
            }
          }
        },
      ),
      { ...testSeed("realPath"), numRuns: 60 },
    )
  })

  test("never reports a path outside as inside", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(node, { maxLength: 14 }),
        fc.array(route, { minLength: 8, maxLength: 8 }),
        async (nodes, routes) => {
          await using temporary = await temporaryDirectory()
          const base = await deepDirectory(temporary.path)
          const root = join(base, "a")
          await mkdir(root)
          await plant(base, nodes)
          const workspace = await openWorkspace({ directory: root })
          for (const way of routes) {
            const location = await workspace.resolve(way).catch(() => undefined)
            if (location === undefined) continue
            await makeDirectory(dirname(location.path), base)
            const real = await deepestExisting(location.path)
            const inside = real === root || real.startsWith(`${root}/`)
            expect(location.external).toBe(!inside)
            expect(location.name.startsWith("/")).toBe(location.external)
          }
        },
      ),
      { ...testSeed("resolve"), numRuns: 60 },
    )
  })

  test("fails with an explanation on a circle of symlinks", async () => {
    await using temporary = await temporaryDirectory()
    await symlink("two", join(temporary.path, "one"))
    await symlink("one", join(temporary.path, "two"))
    await expect(realPath(join(temporary.path, "one", "x"))).rejects.toThrow(/circle of symlinks/)
  })
})
