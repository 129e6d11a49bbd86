import { describe, expect, test } from "vitest"
import { openStemma } from "../../src/index.ts"
import { type Home, home } from "./program-process.ts"

const password = "granite-7341"

/** A session with a password in a sentence and in a command, as a program would have left it. */
async function sessionOf(at: Home): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: at.path, OLLAMA_HOST: "127.0.0.1:1" }
  await using stemma = await openStemma({ directory: at.project, env })
  const session = await stemma.sessions.create({ title: "The database" })
  await session.append({ role: "user", text: `The password is ${password}. Which port?` })
  await session.append({ role: "user", text: `Try mysql -uroot -p'${password}' shop` })
  return session.id
}

describe("stemma session share", () => {
  test("--preview prints what the page would show and what is masked, and publishes nothing", async () => {
    await using at = await home()
    const id = await sessionOf(at)
    const { code, stdout, stderr } = await at.run(["session", "share", id, "--preview"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toBe(`2 messages, texts.
2 places are masked:
  message 0 (user): secret in a sentence
  message 1 (user): password in a command

The page would show:

The database

--- message 0 (user)
The password is [redacted]. Which port?

--- message 1 (user)
Try mysql -uroot -p'[redacted]' shop
`)
    const json = await at.run(["session", "share", id, "--preview", "--json"])
    expect(JSON.parse(json.stdout)).toMatchObject({
      session: { title: "The database" },
      masked: [{ kind: "secret in a sentence", count: 1, position: 0 }, { position: 1 }],
    })
    expect(stdout + json.stdout).not.toContain(password)
    expect((await at.run(["session", "show", id, "--json"])).stdout).not.toContain('"share"')
  })

  test("publishes on a server after the preview, and only with a yes", async () => {
    await using at = await home()
    const id = await sessionOf(at)
    const server = await at.serve()
    const args = ["session", "share", id, "--server", server.url]
    const asked = await at.run(args)
    expect(asked).toMatchObject({ code: 1, stdout: "" })
    expect(asked.stderr).toMatch(/2 places are masked:[\s\S]*password in a command[\s\S]*add --yes/)
    const { code, stdout } = await at.run([...args, "--yes"])
    expect(code).toBe(0)
    const page = await (await fetch(stdout.trim())).text()
    expect(page).toContain("Try mysql")
    expect(page).not.toContain(password)
    expect(await at.run([...args, "--end"])).toMatchObject({ code: 0, stdout: "The page is removed.\n" })
    expect((await fetch(stdout.trim())).status).toBe(404)
  })

  test("says what is missing", async () => {
    await using at = await home()
    const id = await sessionOf(at)
    const alone = await at.run(["session", "share", id])
    expect(alone).toMatchObject({ code: 1, stderr: expect.stringContaining("--server") })
    const wrong = await at.run(["session", "share", "nonsense", "--preview"])
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("Name a session by its id") })
    expect((await at.run(["session", "share", "--help"])).stdout).toContain("--preview")
    expect((await at.run(["--help"])).stdout).toContain("session share ID")
  })
})
