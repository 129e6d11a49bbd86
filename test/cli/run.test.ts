import { once } from "node:events"
import { existsSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { StemmaEvent } from "../../src/protocol/index.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { until } from "../support/run-scene.ts"
import { type Home, home, isAlive, runsCommand } from "./program-process.ts"

async function sessionsOf(at: Home): Promise<{ id: string; title: string; directory: string }[]> {
  const { stdout } = await at.run(["session", "list", "--json"])
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
}

describe("stemma run", () => {
  test("prints the answer to stdout and the tool calls to stderr", async () => {
    await using at = await home()
    await writeFile(join(at.project, "menu.txt"), "oolong\n")
    const { code, stdout, stderr } = await at.run(["run", "read", "menu.txt"])
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("oolong") })
    expect(stdout).toMatch(/[^\n]\n$/)
    expect(stderr).toMatch(/^Session ses_\w+ in .*project, default model demo\/guide/)
    expect(stderr).toContain('> read {"filePath":"menu.txt"}\n< menu.txt\n')
    expect(stdout).not.toContain("> read")
  })

  test("reads the prompt from stdin, if stdin is a pipe or the prompt is -", async () => {
    await using at = await home()
    for (const args of [["run"], ["run", "-"]]) {
      const { code, stdout } = await at.run(args, { input: "todo: order tea\n" })
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("todo") })
    }
    const { code, stdout, stderr } = await at.run(["run"], { input: " \n" })
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toContain("There is no prompt")
  })

  test("continues the last session of the directory, or the session that --session names", async () => {
    await using at = await home()
    await at.run(["run", "todo: order tea"])
    const [first] = await sessionsOf(at)
    expect((await at.run(["run", "--continue", "show my todos"])).stdout).toContain("order tea")
    await at.run(["run", "list files"])
    const named = await at.run(["run", "--session", first!.id, "show my todos"])
    expect(named.stdout).toContain("order tea")
    expect(await sessionsOf(at)).toHaveLength(2)
    const elsewhere = await at.run(["run", "--continue", "hello"], { cwd: at.path })
    expect(elsewhere).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no session to continue in this directory"),
    })
    const otherID = `${first!.id.slice(0, -1)}${first!.id.endsWith("0") ? "1" : "0"}`
    const unknown = await at.run(["run", "--session", otherID, "hello"])
    expect(unknown).toMatchObject({ code: 1, stdout: "" })
  })

  test("a wrong --server address is refused without repeating its token or password", async () => {
    await using at = await home()
    const address = "htp://me:pass-phrase@127.0.0.1:4096/#token=a-secret-token"
    const refused = await at.run(["run", "--server", address, "hello"])
    expect(refused).toMatchObject({ code: 1, stdout: "" })
    expect(refused.stderr).toContain("--server takes an address such as http://127.0.0.1:4096.")
    expect(refused.stderr).not.toMatch(/pass-phrase|a-secret-token/)
  })

  test("a refused prompt leaves no session", async () => {
    await using at = await home()
    for (const [args, sentence] of [
      [["--agent", "nobody"], /^There is no agent nobody\. The agents here are: build/],
      [["--model", "nobody/gpt-5"], /^There is no provider nobody\. The providers are: /],
      [["--model", "gpt-5"], /^--model takes provider\/model, for example openai\/gpt-5, not "gpt-5"\./],
    ] as const)
      expect(await at.run(["run", ...args, "hello"])).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(sentence),
      })
    const long = await at.run(["run", "-"], { input: "tea ".repeat(6 * 1024 * 1024) })
    expect(long).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("larger than 20 MiB") })
    expect(await sessionsOf(at)).toEqual([])
  })

  test("continues the last session that has messages", async () => {
    await using at = await home()
    await at.run(["run", "todo: order tea"])
    const server = await at.serve()
    for (let i = 0; i < 25; i++) await server.fetch("/sessions", { method: "POST" })
    const { stdout } = await at.run(["run", "--server", server.url, "--continue", "show my todos"])
    expect(stdout).toContain("order tea")
  })

  test("refuses a directory that does not exist, and creates nothing", async () => {
    await using at = await home()
    const gone = join(at.path, "gone")
    expect(await at.run(["run", "--directory", gone, "hello"])).toEqual({
      code: 1,
      signal: null,
      stdout: "",
      stderr: `There is no directory ${gone}. Create it, or name another one.\n`,
    })
    expect(existsSync(at.data)).toBe(false)
  })

  test.skipIf(!existsSync("/dev/full"))("reports that writing its output failed", async () => {
    await using at = await home()
    const { code, stderr } = await at.run(["run", "list files"], { shell: 'exec "$@" > /dev/full' })
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\nWriting the output failed: no space left on device\.\n/),
    })
    expect(stderr).not.toMatch(/Error|at /)
  })

  test("refuses a question when there is no person to ask, and reports it", async () => {
    await using at = await home()
    const { code, stderr } = await at.run(["run", "write hello to b.txt"])
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("no person is there to ask"),
    })
    expect(existsSync(join(at.project, "b.txt"))).toBe(false)
  })

  test("--allow answers yes to the questions that it names, without a terminal, for this prompt only", async () => {
    await using at = await home()
    const written = () => existsSync(join(at.project, "b.txt"))
    const other = await at.run(["run", "--allow", "edit:docs/*", "--allow", "bash", "write hello to b.txt"])
    expect(other).toMatchObject({ code: 0, stderr: expect.stringContaining("There is no person to ask") })
    expect(written()).toBe(false)
    const allowed = await at.run(["run", "--allow", "edit:b.*", "write hello to b.txt"])
    expect(allowed).toMatchObject({ code: 0, stderr: expect.stringContaining("< b.txt") })
    expect(written()).toBe(true)
    const command = await at.run(["run", "--allow", "bash:wc *", "run wc -c b.txt"])
    expect(command.stdout).toContain("6 b.txt")
    const later = await at.run(["run", "--strict", "run wc -c b.txt"])
    expect(later).toMatchObject({ code: 3, stderr: expect.stringContaining("no person is there to ask") })
  })

  test("--allow also answers the questions of a server", async () => {
    await using at = await home()
    const server = await at.serve()
    const args = ["run", "--server", server.url, "--strict"]
    expect(await at.run([...args, "--allow", "edit", "write hello to b.txt"])).toMatchObject({ code: 0 })
    expect(existsSync(join(at.project, "b.txt"))).toBe(true)
    expect(await at.run([...args, "write hello to c.txt"])).toMatchObject({ code: 3 })
  })

  test("--allow allows neither what a rule denies nor what only a person may allow", async () => {
    await using at = await home()
    await at.config({ permission: { edit: { "*": "ask", "no/*": "deny" } } })
    for (const name of ["no/b.txt", ".git/config", "stemma.json"]) {
      const { code } = await at.run(["run", "--strict", "--allow", "edit", `write hello to ${name}`])
      expect({ name, code }).toEqual({ name, code: 3 })
      expect(existsSync(join(at.project, name))).toBe(false)
    }
  })

  test.each([
    ["write", /^There is no permission write\. Use --allow edit/],
    ["", /^--allow takes a permission such as edit/],
    ["edit docs", /^--allow takes a permission such as edit/],
  ])("refuses --allow %j, and creates nothing", async (rule, sentence) => {
    await using at = await home()
    const refused = await at.run(["run", "--allow", rule, "hello"])
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(sentence) })
    expect(existsSync(at.data)).toBe(false)
  })

  test("--strict exits with 3 if a tool call was refused, and with 0 otherwise", async () => {
    await using at = await home()
    const refused = await at.run(["run", "--strict", "write hello to b.txt"])
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("exit code is 3") })
    await at.config({ permission: { edit: { "b.txt": "deny" } } })
    expect((await at.run(["run", "--strict", "list files"])).code).toBe(0)
    expect((await at.run(["run", "--strict", "write hello to b.txt"])).code).toBe(3)
  })

  test("called by npm, it names commands as the user has to type them", async () => {
    await using at = await home()
    const env = { npm_lifecycle_event: "stemma" }
    expect((await at.run(["--help"], { env })).stdout).toContain("Usage: npm run -s stemma -- <command>")
    expect((await at.run(["run", "--help"], { env })).stdout).toContain(
      "Usage: npm run -s stemma -- run PROMPT",
    )
    const wrong = await at.run(["session", "show", "x"], { env })
    expect(wrong.stderr).toContain("List the ids with npm run -s stemma -- session list --all.")
    expect((await at.run(["session", "list", "--all"], { env })).stderr).toContain("npm run -s stemma -- run")
    expect((await at.run(["run", "--help"])).stdout).toContain("Usage: stemma run PROMPT")
  })

  test("with --json each event is a line", async () => {
    await using at = await home()
    const { code, stdout } = await at.run(["run", "--json", "list files"])
    expect(code).toBe(0)
    const events = stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as StemmaEvent)
    const types = events.map(({ type }) => type)
    expect(types).toContain("message.part.updated")
    const last = events.filter(({ type }) => type === "message.updated").at(-1)
    expect(last?.properties).toMatchObject({ info: { role: "assistant", finish: "stop" } })
  })

  test("exits with 1 when there is no answer", async () => {
    await using at = await home()
    const noKey = await at.run(["run", "--model", "anthropic/claude", "hello"])
    expect(noKey).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("ANTHROPIC_API_KEY") })
    const noAgent = await at.run(["run", "--agent", "nobody", "hello"])
    expect(noAgent).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("nobody") })
  })

  test("Ctrl-C stops the answer, and the history stays valid", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow" } })
    const running = at.start(["run", "run sleep 600"])
    await running.says(/> bash/)
    running.child.kill("SIGINT")
    expect(await running.ended).toMatchObject({ code: 130, signal: null })
    const [session] = await sessionsOf(at)
    const { stdout } = await at.run(["session", "show", session!.id, "--json"])
    expect(stdout).toContain("A person stopped it on the terminal.")
    expect(stdout).not.toContain('"status":"running"')
  })

  test.each([
    ["@ai-sdk/openai-compatible", { code: 0, stdout: "Oolong.\n" }],
    ["@ai-sdk/openai", { code: 0, stdout: "Oolong.\n" }],
    ["@ai-sdk/anthropic", { code: 0, stdout: "Oolong.\n" }],
    // The test server does not speak this protocol.
    ["@ai-sdk/google", { code: 1, stderr: expect.stringContaining("mine refused the request (404)") }],
  ])("the built program contains %s", async (npm, expected) => {
    await using at = await home()
    await using server = await startModelServer({ fallback: { text: "Oolong." } })
    const options = { baseURL: server.baseURL, apiKey: "a-key" }
    await at.config({ title: false, model: "mine/m1", provider: { mine: { npm, options } } })
    expect(await at.run(["run", "which tea?"])).toMatchObject(expected)
  })

  test("stays until the title of its new session is written", async () => {
    await using at = await home()
    await using server = await startModelServer()
    await at.config(server.config())
    server.script({ text: "Oolong." }, { text: "Which tea", firstDelayMs: 700 })
    expect(await at.run(["run", "which tea shall I drink?"])).toMatchObject({ code: 0, stdout: "Oolong.\n" })
    expect(await sessionsOf(at)).toMatchObject([{ title: "Which tea" }])
  })

  test("Ctrl-C does not wait for a title that does not come, and the answer counts", async () => {
    await using at = await home()
    await using server = await startModelServer()
    await at.config(server.config())
    server.script({ text: "Oolong." }, { fault: "stall", beforeHeaders: true })
    const running = at.start(["run", "which tea shall I drink?"])
    await running.says(/Oolong\.\n/)
    await until("the title is asked for", () => server.requests.length === 2)
    running.child.kill("SIGINT")
    expect(await running.ended).toMatchObject({ code: 0, stdout: "Oolong.\n" })
    expect(server.requests[1]!.aborted).toBe(true)
    expect(await sessionsOf(at)).toMatchObject([{ title: "which tea shall I drink?" }])
  })

  test("SIGHUP stops it and its command, also when it arrives twice", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow", edit: "allow" } })
    const running = at.start(["run", runsCommand])
    const pid = await at.commandRuns()
    running.child.kill("SIGHUP")
    running.child.kill("SIGHUP")
    expect(await running.ended).toMatchObject({ code: 129, signal: null })
    await until("the command is gone", () => !isAlive(pid))
  })

  test("SIGHUP has no effect when it was started with nohup", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow", edit: "allow" } })
    const running = at.start(["run", runsCommand], { shell: 'nohup "$@"' })
    const pid = await at.commandRuns()
    running.child.kill("SIGHUP")
    process.kill(pid, "SIGTERM")
    expect(await running.ended).toMatchObject({ code: 0, signal: null })
  })

  test("a closed stdout stops it, without an error message", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow" } })
    const running = at.start(["run", "--json", "run sleep 600"])
    await once(running.child.stdout!, "data")
    running.child.stdout!.destroy()
    await running.says(/^Session/m)
    const { code, stderr } = await running.ended
    expect(code).toBe(141)
    expect(stderr).not.toMatch(/EPIPE|Error|at /)
  })

  test("control characters in file content do not reach the terminal", async () => {
    await using at = await home()
    await writeFile(join(at.project, "menu.txt"), "\u001b[2Jgreen\u009b31m\u202etea\r\n")
    const { stdout, stderr } = await at.run(["run", "read menu.txt"])
    expect(stdout).toContain("green")
    expect(`${stdout}${stderr}`).not.toMatch(/[\p{Cc}--[\n\t]]|\u202e/v)
    const json = (await at.run(["run", "--json", "-c", "read menu.txt"])).stdout
    expect(json).not.toMatch(/[\p{Cc}--[\n\t]]|\u202e/v)
    expect(json).toContain("\\u202e")
  })
})

describe("stemma run --server", () => {
  test("prompts a running server, with the token of the token file", async () => {
    await using at = await home()
    await writeFile(join(at.project, "menu.txt"), "oolong\n")
    const server = await at.serve([], { cwd: at.path })
    const { code, stdout } = await at.run(["run", "--server", server.url, "read menu.txt"])
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("oolong") })
    const { items } = (await (await server.fetch("/sessions")).json()) as { items: { directory: string }[] }
    expect(items.map(({ directory }) => directory)).toEqual([at.project])
  })

  test("uses the token of the environment, or of the printed address", async () => {
    await using at = await home()
    await using elsewhere = await home()
    const env = { STEMMA_TOKEN: "a-token-of-the-environment" }
    const server = await at.serve([], { env })
    const directory = ["--directory", at.project]
    const without = await elsewhere.run(["run", "--server", server.url, "hello"])
    expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining("token is missing or wrong") })
    const given = ["run", ...directory, "--server", server.url, "todo: order tea"]
    expect((await elsewhere.run(given, { env })).code).toBe(0)
    const printed = `${server.url}#token=${env.STEMMA_TOKEN}`
    expect((await elsewhere.run(["run", ...directory, "--server", printed, "list files"])).code).toBe(0)
  })

  test("the token of the token file is not sent to another machine", async () => {
    await using at = await home()
    await at.serve()
    const token = (await readFile(join(at.data, "token"), "utf8")).trim()
    const { createServer } = await import("node:http")
    const asked: string[] = []
    const other = createServer((request, response) => {
      asked.push(JSON.stringify(request.headers))
      response.writeHead(401).end()
    }).listen(0, "0.0.0.0")
    await once(other, "listening")
    try {
      const { port } = other.address() as { port: number }
      // An address of this machine that is not a loopback address.
      const { code } = await at.run(["run", "--server", `http://0.0.0.0:${port}`, "hello"])
      expect(code).toBe(1)
      expect(asked.length).toBeGreaterThan(0)
      expect(asked.join()).not.toContain(token)
    } finally {
      other.close()
      other.closeAllConnections()
    }
  })

  test("refuses questions itself, because there is no person to ask", async () => {
    await using at = await home()
    const server = await at.serve()
    const { code, stderr } = await at.run(["run", "--server", server.url, "write hello to b.txt"])
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("There is no person to ask"),
    })
    expect(existsSync(join(at.project, "b.txt"))).toBe(false)
  })

  test.each(["SIGKILL", "SIGSTOP"] as const)(
    "Ctrl-C ends it soon, even if the server got %s",
    async (signal) => {
      await using at = await home()
      await at.config({ permission: { bash: "allow" } })
      const server = await at.serve()
      // The command must end by itself, because a killed server leaves it running.
      const running = at.start(["run", "--server", server.url, "run sleep 20"])
      await running.says(/> bash/)
      server.child.kill(signal)
      const startMs = performance.now()
      running.child.kill("SIGINT")
      expect((await running.ended).code).toBe(130)
      expect(performance.now() - startMs).toBeLessThan(30_000)
    },
  )

  test("Ctrl-C stops the run in the server too", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow" } })
    const server = await at.serve()
    const running = at.start(["run", "--server", server.url, "run sleep 600"])
    await running.says(/> bash/)
    running.child.kill("SIGINT")
    expect(await running.ended).toMatchObject({ code: 130, signal: null })
    expect(await (await server.fetch("/sessions/status")).json()).toEqual({})
  })

  test("waits for a killed server to restart, and then shows the answer", async () => {
    await using at = await home()
    await at.config({ permission: { bash: "allow", edit: "allow" } })
    const server = await at.serve()
    const running = at.start(["run", "--server", server.url, runsCommand])
    await running.says(/> bash/)
    // The call is printed before it starts, and the kill must interrupt a started call: the next server would run a
    // call that has not started.
    await at.commandRuns()
    server.child.kill("SIGKILL")
    await server.ended
    await running.says(/Waiting for the server/)
    await at.serve(["--port", String(server.port)])
    const { code, stdout, stderr } = await running.ended
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/< bash failed: .*interrupted/i),
    })
    expect(stdout).toMatch(/\n$/)
  })

  test("reports a server that cannot be reached", async () => {
    await using at = await home()
    const { code, stdout, stderr } = await at.run(["run", "--server", "http://127.0.0.1:1", "hello"])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/^The server at http:\/\/127\.0\.0\.1:1 cannot be reached\. .*\n$/)
  })
})
