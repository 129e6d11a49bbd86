import { once } from "node:events"
import { existsSync } from "node:fs"
import { chmod, mkdir, readFile, stat, symlink, unlink, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, test } from "vitest"
import { createClient } from "../../src/client/index.ts"
import { until } from "../support/run-scene.ts"
import { type Home, home, isAlive, runsCommand, type Serving } from "./program-process.ts"

const clientOf = ({ url, token }: Serving) => createClient({ baseUrl: url, token })

const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === "::1"),
)

describe.skipIf(!existsSync("/proc/self"))("a data directory that cannot be made", () => {
  test.each([
    ["run", "hello"],
    ["serve", "--port", "0"],
    ["session", "list"],
    ["trust", "--yes"],
  ])("stemma %s says so and ends", async (...args) => {
    await using at = await home()
    await writeFile(join(at.project, "stemma.json"), '{ "model": "demo/guide" }')
    const { code, stderr } = await at.run(args, { env: { STEMMA_DATA: "/proc/x/y" } })
    if (args[0] === "session") expect({ code, stderr }).toMatchObject({ code: 0 })
    else
      expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(/\/proc\/x.*ENOENT/) })
  })
})

describe("stemma serve", () => {
  test("prints its address once it answers, and prints what to try", async () => {
    await using at = await home()
    const server = await at.serve()
    const answer = await server.fetch("/sessions")
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ items: [] })
    expect((await server.fetch("/readyz")).status).toBe(200)
    expect(server.stdout()).toContain(`curl -H "Authorization: Bearer $(cat ${at.data}/token)"`)
    expect(server.stdout()).toContain("stemma run --server http://127.0.0.1:")
    expect(server.stdout().split(server.token).length, "the token is printed once").toBe(2)
    expect(server.stderr()).toBe("")
  })

  test("creates a token file that only its owner can read, and reuses it", async () => {
    await using at = await home()
    const first = await at.serve()
    const file = join(at.data, "token")
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(at.data)).mode & 0o777).toBe(0o700)
    expect((await readFile(file, "utf8")).trim()).toBe(first.token)
    expect(first.token).toMatch(/^[\w-]{43}$/)
    first.child.kill("SIGTERM")
    await first.ended
    expect((await at.serve()).token).toBe(first.token)
  })

  test("refuses a token file that other users can read, or that is a symlink", async () => {
    await using at = await home()
    await mkdir(at.data, { recursive: true })
    const file = join(at.data, "token")
    await writeFile(file, "a-token-that-others-can-read\n")
    await chmod(file, 0o644)
    const open = await at.run(["serve", "--port", "0"])
    expect(open).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("can be read by others"),
    })
    await unlink(file)
    await writeFile(join(at.path, "elsewhere"), "a-token-that-is-elsewhere\n", { mode: 0o600 })
    await symlink(join(at.path, "elsewhere"), file)
    const linked = await at.run(["serve", "--port", "0"])
    expect(linked).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("is a symlink") })
  })

  test("uses STEMMA_TOKEN, creates no token file, and shows the token to no log and no tool", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow" } })
    const token = "a-token-of-the-environment"
    const server = await at.serve([], { env: { STEMMA_TOKEN: token, COPY: `x${token}` } })
    expect(existsSync(join(at.data, "token"))).toBe(false)
    expect(server.stdout()).not.toContain(token)
    expect(server.stdout()).toContain('"Authorization: Bearer $STEMMA_TOKEN"')
    expect((await fetch(`${server.url}sessions`)).status).toBe(401)
    const client = clientOf(server)
    const { id } = await client.sessions.create()
    const session = client.session(id)
    await session.ask({ text: "run env" })
    await session.ask({ text: `run echo ${token}` })
    const transcript = await session.transcript()
    expect(transcript).toContain("HOME=")
    expect(transcript).not.toContain("STEMMA_TOKEN")
    expect(transcript).not.toContain("COPY=")
    expect(transcript).toContain("[secret]")
  })

  test("a tool cannot read the token of the token file", async () => {
    await using at = await home()
    await at.config({ permission: { "*": "allow" } })
    const server = await at.serve()
    const client = clientOf(server)
    const session = client.session((await client.sessions.create()).id)
    for (const text of [`read ${at.data}/token`, `run cat ${at.data}/token`, "run env"])
      await session.ask({ text })
    const said = await session.transcript()
    expect(said).toContain("HOME=")
    expect(said).not.toContain(server.token)
  })

  test("without a token it listens on loopback only", async () => {
    await using at = await home()
    const server = await at.serve(["--no-auth"])
    expect(server.token).toBe("")
    expect((await fetch(`${server.url}sessions`)).status).toBe(200)
    for (const host of ["0.0.0.0", "0", "[::]"]) {
      const open = await at.run(["serve", "--no-auth", "--host", host, "--port", "0"])
      expect(open).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining("can listen only on a loopback address"),
      })
    }
  })

  test.each(["LOCALHOST", "127.1", "0", ...(hasIPv6 ? ["[::1]"] : [])])(
    "on host %s it answers at the address that it printed",
    async (host) => {
      await using at = await home()
      const server = await at.serve(["--host", host])
      expect((await server.fetch("/sessions")).status).toBe(200)
    },
  )

  test("refuses a path that is not a directory, and creates nothing", async () => {
    await using at = await home()
    const [gone, file] = [join(at.path, "gone"), join(at.path, "file")]
    await writeFile(file, "")
    for (const [directory, sentence] of [
      [gone, `There is no directory ${gone}. Create it, or name another one.\n`],
      [file, `${file} is not a directory. Name another one.\n`],
    ] as const)
      expect(await at.run(["serve", "--port", "0", "--directory", directory])).toEqual({
        code: 1,
        signal: null,
        stdout: "",
        stderr: sentence,
      })
    expect(existsSync(at.data)).toBe(false)
  })

  test("reports that its port is in use", async () => {
    await using at = await home()
    const other = createServer().listen(0, "127.0.0.1")
    await once(other, "listening")
    try {
      const { port } = other.address() as { port: number }
      const { code, stdout, stderr } = await at.run(["serve", "--port", String(port)])
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toBe(`Port ${port} is in use. Choose another one, or 0 for any free port.\n`)
    } finally {
      other.close()
    }
  })

  test("with --quiet it prints only its address", async () => {
    await using at = await home()
    const running = at.start(["serve", "--port", "0", "--quiet"])
    const [line] = await running.says(/.*\n/)
    expect(line).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/)
    running.child.kill("SIGTERM")
    expect(await running.ended).toMatchObject({ code: 0, stdout: line, stderr: "" })
  })

  test("accepts the host names and origins of the user's config", async () => {
    await using at = await home()
    await at.config({ server: { hosts: ["stemma.example.org"], origins: ["https://app.example.org"] } })
    const server = await at.serve()
    const ask = (headers: Record<string, string>) =>
      import("node:http").then(async ({ get }) => {
        const request = get({ port: server.port, host: "127.0.0.1", path: "/healthz", headers })
        const [response] = await once(request, "response")
        response.resume()
        return response.statusCode as number
      })
    expect(await ask({ host: "stemma.example.org" })).toBe(200)
    expect(await ask({ host: "evil.example.org" })).toBe(403)
    expect(await ask({ host: `127.0.0.1:${server.port}`, origin: "https://app.example.org" })).toBe(200)
    expect(await ask({ host: `127.0.0.1:${server.port}`, origin: "https://evil.example.org" })).toBe(403)
  })

  test("reports the location of an error in the user's config instead of starting", async () => {
    await using at = await home()
    await at.config({ server: { origins: ["app.example.org"] } })
    const { code, stdout, stderr } = await at.run(["serve", "--port", "0"])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/stemma\.json:1:\d+: server\.origins\.0: expected an origin/)
  })
})

describe("a signal to stemma serve", () => {
  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s ends it with code 0 when nothing runs",
    async (signal) => {
      await using at = await home()
      const server = await at.serve()
      server.child.kill(signal)
      expect(await server.ended).toMatchObject({ code: 0, signal: null, stderr: "" })
    },
  )

  test("new prompts are refused while a run finishes, and its answer is complete", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow" } })
    const server = await at.serve()
    const client = clientOf(server)
    const [one, two] = [await client.sessions.create(), await client.sessions.create()]
    const answer = client.session(one.id).ask({ text: "run sleep 3" })
    await until("it runs", async () => Object.hasOwn(await client.sessions.statuses(), one.id))
    server.child.kill("SIGTERM")
    await until("it drains", async () => (await client.server.health()).status === "draining")
    const refused = await server.fetch(`/sessions/${two.id}/prompt`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"text":"list files"}',
    })
    expect(refused.status).toBe(503)
    expect((await answer).message).toMatchObject({ finish: "stop" })
    expect(await server.ended).toMatchObject({ code: 0, stderr: "" })
  })

  test("a second signal interrupts the run, and the next start continues it", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow" } })
    const server = await at.serve()
    const { id } = await clientOf(server).sessions.create()
    await clientOf(server).session(id).prompt({ text: "run sleep 600" })
    const history = () => clientOf(server).session(id).history()
    await until("the command runs", async () =>
      JSON.stringify(await history()).includes('"status":"running"'),
    )
    server.child.kill("SIGINT")
    await until("it drains", async () => (await clientOf(server).server.health()).status === "draining")
    server.child.kill("SIGINT")
    expect(await server.ended).toMatchObject({ code: 0, stderr: "" })

    const again = await at.serve()
    await until("it has gone on", async () => {
      const { items } = await clientOf(again).session(id).history()
      const { message } = items.at(-1)!
      return message.role === "assistant" && message.finish === "stop"
    })
    expect(await clientOf(again).session(id).transcript()).toMatch(/tool_result: .*(aborted|interrupted)/i)
  })

  test("SIGHUP interrupts the run, and a second SIGHUP has no effect", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow", edit: "allow" } })
    const server = await at.serve()
    const client = clientOf(server)
    const { id } = await client.sessions.create()
    await client.session(id).prompt({ text: runsCommand })
    const pid = await at.commandRuns()
    server.child.kill("SIGHUP")
    await until("it drains", async () => (await client.server.health()).status === "draining")
    server.child.kill("SIGHUP")
    expect((await client.server.health()).status).toBe("draining")
    server.child.kill("SIGTERM")
    expect(await server.ended).toMatchObject({ code: 0, signal: null, stderr: "" })
    await until("the command is gone", () => !isAlive(pid))
  })

  // With a terminal, nohup makes stdin write-only. The second line does the same without nohup.
  test.each(['nohup "$@"', 'exec "$@" 0> /dev/null'])(
    "SIGHUP is ignored when it is started as %s",
    async (shell) => {
      await using at = await home()
      const server = await at.serve([], { shell })
      server.child.kill("SIGHUP")
      for (let i = 0; i < 20; i++) expect((await clientOf(server).server.health()).status).toBe("ok")
      server.child.kill("SIGTERM")
      expect(await server.ended).toMatchObject({ code: 0, signal: null })
    },
  )

  test("SIGHUP is ignored when it is started by a script that ignores SIGHUP", async () => {
    await using at = await home()
    const script = await at.serve([], { shell: 'trap "" HUP; "$@" & echo "pid $!" >&2; wait $!' })
    const pid = Number((await script.says(/pid (\d+)/))[1])
    try {
      process.kill(pid, "SIGHUP")
      for (let i = 0; i < 20; i++) expect((await clientOf(script).server.health()).status).toBe("ok")
    } finally {
      process.kill(pid, "SIGTERM")
    }
    expect(await script.ended).toMatchObject({ code: 0, signal: null })
  })

  describe("during the start", () => {
    const sentence = "The server was told to end while it was starting.\n"

    /** The start waits for a database that another connection has locked. */
    async function starting(at: Home) {
      await mkdir(at.data, { recursive: true, mode: 0o700 })
      const database = new DatabaseSync(join(at.data, "stemma.db"))
      database.exec("BEGIN EXCLUSIVE")
      const running = at.start(["serve", "--port", "0"])
      await until("it starts", () => existsSync(join(at.data, "token")))
      return { ...running, unlock: () => database.isOpen && database.close() }
    }

    test.each([
      ["SIGTERM", 143],
      ["SIGINT", 130],
      ["SIGHUP", 129],
    ] as const)("%s ends it soon", async (signal, code) => {
      await using at = await home()
      const running = await starting(at)
      running.child.kill(signal)
      expect(await running.ended).toEqual({ code, signal: null, stdout: "", stderr: sentence })
      running.unlock()
    })

    test("a second signal ends it immediately", async () => {
      await using at = await home()
      const running = await starting(at)
      running.child.kill("SIGTERM")
      await running.says(/told to end/)
      running.child.kill("SIGTERM")
      expect(await running.ended).toEqual({ code: 143, signal: null, stdout: "", stderr: sentence })
      running.unlock()
    })

    test("a start that completes after the signal serves no request", async () => {
      await using at = await home()
      const running = await starting(at)
      running.child.kill("SIGTERM")
      await running.says(/told to end/)
      running.unlock()
      expect(await running.ended).toEqual({ code: 143, signal: null, stdout: "", stderr: sentence })
    })
  })
})
