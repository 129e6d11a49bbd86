import { existsSync } from "node:fs"
import { mkdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { run } from "../../src/cli/commands/run.ts"
import type { Program } from "../../src/cli/program.ts"
import { openStemma } from "../../src/index.ts"
import { openSqliteStore } from "../../src/stores/sqlite/index.ts"
import { until } from "../support/run-scene.ts"
import { type TemporaryDirectory, temporaryDirectory } from "../support/temporary-directory.ts"

let directory: TemporaryDirectory

beforeEach(async () => {
  directory = await temporaryDirectory()
  await mkdir(join(directory.path, "project"))
})
afterEach(() => directory[Symbol.asyncDispose]())

/** A person at a terminal. */
function person() {
  const input = Object.assign(new PassThrough(), { isTTY: true })
  const output = new PassThrough()
  const error = Object.assign(new PassThrough(), { isTTY: true })
  let said = ""
  for (const stream of [output, error])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text))
  const program: Program = {
    terminal: {
      input,
      output,
      error,
      env: { PATH: process.env.PATH, HOME: directory.path, OLLAMA_HOST: "127.0.0.1:1" },
    },
    directory: join(directory.path, "project"),
    openStemma,
    openStore: openSqliteStore,
    keepCompiledCode: async () => {},
    endStart: () => {},
  }
  return {
    program,
    said: () => said,
    async asked(times = 1) {
      await until(`it asks ${times} times`, () => said.split("Allow this?").length > times)
    },
    type: (text: string) => void input.write(text),
    leave: () => void input.end(),
  }
}

const written = () => existsSync(join(directory.path, "project", "b.txt"))

describe("stemma run on a terminal", () => {
  test("asks, and runs the command after a yes", async () => {
    const { program, asked, type, said } = person()
    const code = run(["write hello to b.txt"], program)
    await asked()
    expect(said()).toMatch(/\? edit: b\.txt\n[\s\S]*\+hello/)
    expect(written()).toBe(false)
    type("y\n")
    expect(await code).toBe(0)
    expect(await readFile(join(directory.path, "project", "b.txt"), "utf8")).toBe("hello\n")
  })

  test.each(["n\n", "No\n"])("%j is a no, and ends the run", async (answer) => {
    const { program, asked, type, said } = person()
    const code = run(["write hello to b.txt"], program)
    await asked()
    type(answer)
    expect(await code).toBe(1)
    expect(said()).toContain("You said no")
    expect(written()).toBe(false)
  })

  test.each(["\n", "what?\n", "yess\n"])(
    "%j is neither yes nor no: the question is asked again",
    async (answer) => {
      const { program, asked, type, said } = person()
      const code = run(["write hello to b.txt"], program)
      await asked()
      type(answer)
      await asked(2)
      expect(said()).toContain("Type y, a or n, and then Enter.")
      expect(written()).toBe(false)
      type("y\n")
      expect(await code).toBe(0)
      expect(written()).toBe(true)
    },
  )

  test("the question says how far the answer always reaches", async () => {
    const edit = person()
    const code = run(["write hello to b.txt"], edit.program)
    await edit.asked()
    expect(edit.said()).toContain("a = always (every later edit in this project, in all sessions)")
    edit.type("n\n")
    await code
    const bash = person()
    const other = run(["run wc b.txt"], bash.program)
    await bash.asked()
    expect(bash.said()).toContain("a = always (every later bash of wc * in this project, in all sessions)")
    bash.type("n\n")
    await other
  })

  test('the answer "always" is stored for the next run', async () => {
    const first = person()
    const code = run(["run wc b.txt"], first.program)
    await first.asked()
    first.type("a\n")
    expect(await code).toBe(0)
    const second = person()
    expect(await run(["run wc -l b.txt"], second.program)).toBe(0)
    expect(second.said()).not.toContain("Allow this?")
  })

  test("closing the terminal is not a yes", async () => {
    const { program, asked, leave } = person()
    const code = run(["write hello to b.txt"], program)
    await asked()
    leave()
    expect(await code).toBe(1)
    expect(written()).toBe(false)
  })

  test("Ctrl-C during a question stops the run", async () => {
    const { program, asked } = person()
    const code = run(["write hello to b.txt"], program)
    await asked()
    process.emit("SIGINT")
    expect(await code).toBe(130)
    expect(written()).toBe(false)
  })
})
