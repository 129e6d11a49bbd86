import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { expect, test } from "vitest"
import { trust, untrust } from "../../src/cli/commands/trust.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

async function terminal(options: { typed?: string } = {}) {
  const directory = await temporaryDirectory()
  const input = new PassThrough() as PassThrough & { isTTY?: boolean }
  if (options.typed !== undefined) {
    input.isTTY = true
    input.end(options.typed)
  }
  const output = new PassThrough()
  const env = { HOME: directory.path, STEMMA_DATA: join(directory.path, "data") }
  const at = join(directory.path, "project")
  await import("node:fs/promises").then((fs) => fs.mkdir(at))
  await writeFile(join(at, "stemma.json"), '{"model": "evil/\u001b[2Jm"}')
  return {
    at,
    terminal: { input, output, error: output, env },
    said: () => String(output.read() ?? ""),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  }
}

test("it prints the files without control characters, asks, and trusts after a yes", async () => {
  await using one = await terminal({ typed: "y\n" })
  expect(await trust([one.at], one.terminal)).toBe(0)
  const said = one.said()
  expect(said).toContain("stemma.json")
  expect(said).toContain("\\u001b")
  expect(said).not.toContain("\u001b[2J")
  expect(await trust([one.at], one.terminal)).toBe(0)
  expect(one.said()).toContain("nothing to trust")
  await untrust([one.at], one.terminal)
  await trust([one.at], one.terminal)
  expect(one.said()).toContain("If you trust them")
})

test.each([
  ["a no", "n\n"],
  ["nothing", "\n"],
])("%s changes nothing", async (_, typed) => {
  await using one = await terminal({ typed })
  expect(await trust([one.at], one.terminal)).toBe(1)
  expect(one.said()).toContain("Nothing was changed")
})

test("without a terminal it needs --yes", async () => {
  await using one = await terminal()
  expect(await trust([one.at], one.terminal)).toBe(1)
  expect(one.said()).toContain("--yes")
  expect(await trust([one.at, "--yes"], one.terminal)).toBe(0)
})
