import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { home } from "./program-process.ts"

const commands = ["serve", "run", "session", "session list", "session show", "trust", "untrust"]

describe("npm start", () => {
  test("runs the command that package.json names", async () => {
    const { default: manifest } = await import("../../package.json", { with: { type: "json" } })
    const scripts: Record<string, string> = manifest.scripts
    expect(scripts.start).toBe("node bin/stemma.js serve")
    expect(scripts.stemma).toBe("node bin/stemma.js")
  })

  test("serves the directory where it was called, and prints hints for a checkout", async () => {
    await using at = await home()
    // npm sets the working directory to the package, and INIT_CWD to the directory where it was called.
    const env = { npm_lifecycle_event: "start", npm_package_name: "stemma", INIT_CWD: at.project }
    const server = await at.serve([], { env, cwd: process.cwd(), sources: true })
    expect(server.stdout()).toContain("npm run -s stemma -- run --server http")
    const created = await server.fetch("/sessions", { method: "POST" })
    expect(await created.json()).toMatchObject({ directory: at.project })
  })
})

describe("a checkout", () => {
  test("runs its sources by type stripping: a tool, an answer, and a search by the store's thread", async () => {
    await using at = await home()
    await writeFile(join(at.project, "menu.txt"), "oolong\n")
    const said = await at.run(["run", "read", "menu.txt"], { sources: true })
    expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining("oolong") })
    const found = await at.run(["session", "list", "--search", "oolong"], { sources: true })
    expect(found).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ses_/), stderr: "" })
  })
})

describe("stemma", () => {
  test.each(commands)("%s --help prints its usage and does nothing", async (name) => {
    await using at = await home()
    const { code, stdout, stderr } = await at.run([...name.split(" "), "--help"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain(`Usage: stemma ${name}`)
  })

  test.each(commands.filter((name) => name !== "session"))("%s refuses an unknown option", async (name) => {
    await using at = await home()
    const { code, stdout, stderr } = await at.run([...name.split(" "), "--milk"])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toContain(`stemma ${name} has no option --milk. Its options are`)
  })

  test("reports an unknown command", async () => {
    await using at = await home()
    expect(await at.run(["brew"])).toMatchObject({
      code: 1,
      stderr: 'stemma has no command "brew". See stemma --help.\n',
    })
    expect(await at.run(["session", "brew"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("list, show and share"),
    })
    expect(await at.run(["serve", "--port", "70000"])).toMatchObject({
      code: 1,
      stderr: '--port takes a whole number from 0 to 65535, not "70000".\n',
    })
  })
})
