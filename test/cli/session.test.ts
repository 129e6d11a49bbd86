import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { openStemma } from "../../src/index.ts"
import { type Home, home } from "./program-process.ts"

/** Sessions as a program would have left them, created directly in the store. */
async function filled(at: Home, fill: (stemma: Awaited<ReturnType<typeof openStemma>>) => Promise<void>) {
  const env = { PATH: process.env.PATH, HOME: at.path, OLLAMA_HOST: "127.0.0.1:1" }
  await using stemma = await openStemma({ directory: at.project, env })
  await fill(stemma)
}

describe("stemma session list", () => {
  test("lists the sessions of the directory, the last used first", async () => {
    await using at = await home()
    const other = join(at.path, "other")
    await mkdir(other)
    await filled(at, async ({ sessions }) => {
      const tea = await sessions.create({ title: "Tea" })
      await tea.append({ role: "user", text: "Oolong?" })
      await sessions.create({ title: "Cake" })
      await sessions.create({ title: "Elsewhere", directory: other })
      const child = await sessions.create({ title: "Child", parentID: tea.id })
      await sessions.archive((await sessions.create({ title: "Away" })).id)
      await sessions.touch(tea.id)
      expect(child.id).toMatch(/^ses_/)
    })
    const { code, stdout, stderr } = await at.run(["session", "list"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/).at(-1))).toEqual(["Tea", "Cake", ""])
    expect(stdout).toMatch(/^ses_\w{26} {2}\d{4}-\d\d-\d\d \d\d:\d\d {5}1 message {3}Tea$/m)
    const all = (await at.run(["session", "list", "--all"])).stdout
    for (const title of ["Tea", "Cake", "Elsewhere", "Child", "Away"]) expect(all).toContain(title)
    expect(all).toMatch(/Away {2}\(archived\)/)
    expect((await at.run(["session", "list", "--limit", "1"])).stdout).toMatch(/^.*Tea\n$/)
    expect((await at.run(["session", "list", "--directory", other])).stdout).toContain("Elsewhere")
    const found = await at.run(["session", "list", "--search", "oolong"])
    expect(found.stdout).toMatch(/^ses_.*Tea\n {4}Oolong\?\n$/)
    const lines = (await at.run(["session", "list", "--json"])).stdout.trim().split("\n")
    expect(lines.map((line) => JSON.parse(line).title)).toEqual(["Tea", "Cake"])
  })

  test("creates no store where there is none", async () => {
    await using at = await home()
    const { code, stdout, stderr } = await at.run(["session", "list"])
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" })
    expect(stderr).toContain("no sessions")
    expect(existsSync(at.data)).toBe(false)
  })

  test.skipIf(!existsSync("/dev/full"))("reports that writing its output failed", async () => {
    await using at = await home()
    await filled(at, async ({ sessions }) => void (await sessions.create({ title: "Tea" })))
    for (const args of [["session", "list"], ["session", "list", "--help"], ["--help"]])
      expect(await at.run(args, { shell: 'exec "$@" > /dev/full' })).toMatchObject({
        code: 1,
        stderr: "Writing the output failed: no space left on device.\n",
      })
  })

  test("changes nothing, and does not recover the work of a dead process", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow" } })
    const running = at.start(["run", "run sleep 600"])
    await running.says(/> bash/)
    running.child.kill("SIGKILL")
    await running.ended
    const before = await fingerprint(at)
    const { stdout } = await at.run(["session", "list", "--json"])
    const { id } = JSON.parse(stdout)
    const shown = await at.run(["session", "show", id])
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("[TOOL] tool_use: bash") })
    expect(await fingerprint(at)).toEqual(before)
  })

  test("prints titles without control characters", async () => {
    await using at = await home()
    await filled(at, async ({ sessions }) => {
      const session = await sessions.create({ title: "\u001b]0;owned\u0007Tea\u001b[31m\nCake\u202e" })
      await session.append({ role: "user", text: "a\u001b[2Jb\u009b1mc\u202e\rd" })
    })
    const { stdout } = await at.run(["session", "list"])
    expect(stdout).toMatch(/ {2}Tea Cake\n$/)
    const json = (await at.run(["session", "list", "--json"])).stdout
    const { id, title } = JSON.parse(json)
    expect(title).toContain("\u001b[31m")
    const shown = await at.run(["session", "show", id])
    expect(shown.stdout).toContain("[USER] ab1mcd")
    for (const text of [stdout, json, shown.stdout, (await at.run(["session", "show", id, "--json"])).stdout])
      expect(text).not.toMatch(/[\p{Cc}--\n]|\u202e/v)
  })
})

describe("stemma session show", () => {
  test("prints the messages and tool calls, all of them or only the last ones", async () => {
    await using at = await home()
    let id = ""
    await filled(at, async ({ sessions }) => {
      const session = await sessions.create({ title: "Tea" })
      id = session.id
      for (let i = 0; i < 450; i++) await session.append({ role: "user", text: `Cup ${i}` })
    })
    const whole = await at.run(["session", "show", id])
    expect(whole.code).toBe(0)
    expect(whole.stdout.match(/^\[USER\] Cup \d+$/gm)).toHaveLength(450)
    expect(whole.stdout).toMatch(new RegExp(`^Tea\n${id} .* 450 messages .*\n${at.project}\n`))
    const last = await at.run(["session", "show", id, "--last", "2"])
    expect(last.stdout.match(/^\[USER\].*$/gm)).toEqual(["[USER] Cup 448", "[USER] Cup 449"])
    const lines = (await at.run(["session", "show", "--json", "--last", "1", id])).stdout.trim().split("\n")
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { id, title: "Tea" },
      { message: { role: "user" }, parts: [{ text: "Cup 449" }] },
    ])
  })

  test("prints the arguments of tool calls", async () => {
    await using at = await home()
    await at.run(["run", "--allow", "edit", "write hello to b.txt"])
    const { id } = JSON.parse((await at.run(["session", "list", "--json"])).stdout)
    const { stdout } = await at.run(["session", "show", id])
    expect(stdout).toMatch(/^\[TOOL\] tool_use: write \{.*"filePath":"b\.txt".*\}$/m)
    expect(stdout).toMatch(/^\[TOOL\] tool_result: /m)
  })

  test("a closed stdout causes no error message", async () => {
    await using at = await home()
    let id = ""
    await filled(at, async ({ sessions }) => {
      const session = await sessions.create({ title: "Tea" })
      id = session.id
      for (let i = 0; i < 40; i++) await session.append({ role: "user", text: "tea ".repeat(10_000) })
    })
    const running = at.start(["session", "show", id])
    await once(running.child.stdout!, "data")
    running.child.stdout!.destroy()
    expect(await running.ended).toMatchObject({ code: 141, stderr: "" })
  })

  test("reports what is wrong with an id", async () => {
    await using at = await home()
    await filled(at, async ({ sessions }) => void (await sessions.create()))
    for (const args of [[], ["../x"], ["msg_1"]])
      expect(await at.run(["session", "show", ...args])).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/^Name a session by its id.*\n$/),
      })
    const unknown = await at.run(["session", "show", "ses_01k8zzzzzzzzzzzzzzzzzzzzzz"])
    expect(unknown).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("ses_01k8zzzzzzzzzzzzzzzzzzzzzz"),
    })
  })
})

/** The database file and the files that SQLite keeps beside it. */
async function fingerprint(at: Home): Promise<unknown> {
  const names = ["stemma.db", "stemma.db-wal"].map((name) => join(at.data, name))
  return Promise.all(names.map(async (name) => [await readFile(name, "hex"), (await stat(name)).mtimeMs]))
}
