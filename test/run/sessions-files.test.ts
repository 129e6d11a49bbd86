import { execFileSync } from "node:child_process"
import { truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { runScene } from "../support/run-scene.ts"

test("a session starts with regular files only: a device or a pipe is refused at once", async () => {
  await using scene = await runScene()
  const { sessions, directory } = scene.stemma
  await writeFile(join(directory, "a.txt"), "oolong")
  await writeFile(join(directory, "large.txt"), "")
  await truncate(join(directory, "large.txt"), 21 * 1024 * 1024)
  execFileSync("mkfifo", [join(directory, "pipe")])
  for (const file of ["/dev/zero", "pipe", "large.txt", "gone.txt", "."])
    await expect(sessions.create({ files: [file] }), file).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining(`The file ${file} cannot be read`),
    })
  const session = await sessions.create({ files: ["a.txt"] })
  expect(await session.transcript()).toContain("File a.txt:\noolong")
})
