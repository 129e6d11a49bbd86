import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { CompiledCode } from "../../src/cli/start/compiled-code.ts"
import { type Home, home } from "./program-process.ts"

/** A cache directory of its own. The other tests share one. */
async function scene(at: Home) {
  const cache = join(at.path, "cache")
  await mkdir(cache)
  const directory = join(cache, "stemma/compiled")
  return {
    cache,
    directory,
    run: (...args: string[]) => at.run(args, { env: { XDG_CACHE_HOME: cache } }),
    kept: async () => {
      const names = await readdir(directory).catch(() => [])
      return names.map((name) => join(directory, name)).sort()
    },
  }
}

describe("the compiled code of the program", () => {
  test("is kept for each command, and only its owner can read or write it", async () => {
    await using at = await home()
    const { run, kept, directory } = await scene(at)
    expect(await run("--version")).toMatchObject({ code: 0 })
    expect(await kept()).toEqual([])
    for (let process = 1; process <= 2; process++) {
      expect(await run("run", "todo: order tea")).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^Session/),
      })
      const [path] = await kept()
      expect(path).toMatch(/\/run-\w+-[\w.-]+\.bin$/)
      expect(new CompiledCode(path!).taughtBy).toBe(process)
      expect((await stat(path!)).mode & 0o777).toBe(0o600)
      expect((await stat(directory)).mode & 0o777).toBe(0o700)
    }
    expect(await run("session", "list")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("order tea"),
    })
    expect(await kept()).toHaveLength(2)
  })

  test("is not kept by a process that fails", async () => {
    await using at = await home()
    const { run, kept } = await scene(at)
    expect(await run("run", "--agent", "nobody", "hello")).toMatchObject({ code: 1 })
    expect(await kept()).toEqual([])
  })

  test("is not needed: damaged code and a directory that cannot be written change nothing", async () => {
    await using at = await home()
    const { run, kept, cache } = await scene(at)
    await run("run", "todo: order tea")
    const [path] = await kept()
    const bytes = await readFile(path!)
    for (let i = 0; i < bytes.length; i += 1000) bytes[i]! ^= 0x55
    await writeFile(path!, bytes)
    const answer = {
      code: 0,
      stdout: expect.stringContaining("todo"),
      stderr: expect.stringMatching(/^Session/),
    }
    expect(await run("run", "todo: order tea")).toMatchObject(answer)
    await writeFile(join(cache, "file"), "")
    const blocked = await at.run(["run", "todo: order tea"], { env: { XDG_CACHE_HOME: join(cache, "file") } })
    expect(blocked).toMatchObject(answer)
    await chmod(path!, 0o666)
    expect(await run("run", "todo: order tea")).toMatchObject(answer)
  })
})
