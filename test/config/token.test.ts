import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { findToken, openToken } from "../../src/config/secrets/token.ts"
import { rejection } from "../support/rejection.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

test("a token is created once, readable by its owner only, and concurrent starts agree on it", async () => {
  await using directory = await temporaryDirectory()
  const dataDirectory = join(directory.path, "data")
  expect(await findToken({ env: {}, dataDirectory })).toBeUndefined()
  const made = await Promise.all(Array.from({ length: 8 }, () => openToken({ env: {}, dataDirectory })))
  expect(new Set(made.map(({ value }) => value)).size).toBe(1)
  const path = join(dataDirectory, "token")
  expect(made[0]).toEqual({ value: (await readFile(path, "utf8")).trim(), path })
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readdir(dataDirectory)).toEqual(["token"])
  expect(await findToken({ env: {}, dataDirectory })).toEqual(made[0])
})

test("the environment takes precedence", async () => {
  await using directory = await temporaryDirectory()
  const options = { env: { STEMMA_TOKEN: "0123456789abcdef" }, dataDirectory: directory.path }
  expect(await openToken(options)).toEqual({ value: "0123456789abcdef" })
  expect(await readdir(directory.path)).toEqual([])
})

test.each(["short", "with a blank in the middle", "with-a-line\nend-in-the-middle"])(
  "%j is not a valid token",
  async (value) => {
    await using directory = await temporaryDirectory()
    const error = await rejection(openToken({ env: { STEMMA_TOKEN: value }, dataDirectory: directory.path }))
    expect(error).toMatchObject({
      code: "invalid",
      message: expect.stringMatching(/^STEMMA_TOKEN contains no valid token/),
    })
    expect(String(error)).not.toContain(value)
  },
)

test.each([
  [
    "other users may read",
    (path: string) => writeFile(path, "0123456789abcdef").then(() => chmod(path, 0o640)),
    /read by others/,
  ],
  ["is a link", (path: string) => symlink("/dev/null", path), /is a symlink/],
  ["is a directory", (path: string) => mkdir(path), /is not a regular file/],
  ["is empty", (path: string) => writeFile(path, "", { mode: 0o600 }), /contains no valid token/],
  ["is far too long", (path: string) => writeFile(path, "x".repeat(5000), { mode: 0o600 }), /too long/],
])("a token file that %s is refused", async (_, make, sentence) => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, "token")
  await make(path)
  const error = await rejection(openToken({ env: {}, dataDirectory: directory.path }))
  expect(error).toMatchObject({ message: expect.stringMatching(sentence) })
  expect(String(error)).toContain(path)
})
