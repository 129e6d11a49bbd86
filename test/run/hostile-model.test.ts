import { execFile } from "node:child_process"
import { access, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import type { SessionHandle } from "../../src/index.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

async function results(session: SessionHandle): Promise<string[]> {
  return partsOf(await session.messages(), "tool").map(({ state }) =>
    state.status === "completed" ? state.output : state.status === "error" ? state.error : state.status,
  )
}

test("the agent plan neither writes files nor shows secrets, with any shell command", async () => {
  const commands = ["declare -a x='($(touch made))'", "(make() { :; }); make", "grep -r KEY ."]
  await using scene = await runScene({
    config: { permission: {} },
    files: { ".env": "KEY=hidden\n", Makefile: "all:\n\ttouch made\n" },
    script: [{ calls: commands.map((command) => ({ tool: "bash", input: { command } })) }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create({ agent: "plan" })
  await session.prompt("Go")
  await expect(access(join(scene.directory, "made"))).rejects.toThrow()
  expect((await results(session)).join()).not.toContain("hidden")
})

test.each([
  [
    "an input that is nested too deep",
    { tool: "todowrite", input: `{"todos":[],"a":${"[".repeat(300)}${"]".repeat(300)}}` },
  ],
  ["a tool without a name", { tool: "", input: {} }],
  ["a call without an id", { tool: "read", input: { filePath: "a.txt" }, id: "" }],
])("%s does not end the run", async (_, call) => {
  await using scene = await runScene({
    files: { "a.txt": "a" },
    script: [{ calls: [call] }, { text: "Fine." }],
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Fine.")
  await assertValid(session)
})

test("a title has no control characters and no text-direction characters", async () => {
  await using scene = await runScene({
    config: { title: true },
    script: [{ text: "Fine." }, { for: "title", text: "\u001b]0;x\u0007\u001b[2JA \u202etitle" }],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  await until("there is a title", async () => (await session.info()).title.includes("title"))
  expect((await session.info()).title).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
})

test("a distant descendant of a session that may not run commands may not either", async () => {
  await using scene = await runScene({
    script: [{ calls: [{ tool: "bash", input: { command: "echo ran" } }] }, { text: "Done." }],
  })
  const permission = [{ permission: "bash", pattern: "*", action: "deny" as const }]
  let session = await scene.stemma.sessions.create({ permission })
  for (let depth = 0; depth < 33; depth++)
    session = await scene.stemma.sessions.create({ parentID: session.id })
  await session.prompt("Go")
  expect((await results(session))[0]).not.toContain("ran\n")
})

test("a named pipe as a file of a prompt is refused without waiting for it", async () => {
  await using scene = await runScene({ script: [{ text: "Fine." }] })
  const pipe = join(scene.directory, "README")
  await promisify(execFile)("mkfifo", [pipe])
  const session = await scene.stemma.sessions.create()
  const sent = session.prompt([
    { type: "text", text: "Go" },
    { type: "file", mime: "text/plain", url: pathToFileURL(pipe).href },
  ])
  const late = new Promise((resolve) => setTimeout(resolve, 2_000, "waits"))
  const outcome = await Promise.race([
    late,
    sent.then(
      () => "sent",
      () => "refused",
    ),
  ])
  // Opens the other end of the pipe, so that a blocked reader would end.
  if (outcome === "waits") await promisify(execFile)("bash", ["-c", ': > "$0"', pipe])
  expect(outcome).toBe("refused")
})

test("whether a file outside exists is not revealed before a person agrees", async () => {
  await using scene = await runScene({
    config: { permission: {} },
    script: [
      {
        calls: ["/etc/passwd", "/etc/no-such-file"].map((filePath) => ({
          tool: "write",
          input: { filePath, content: "" },
        })),
      },
      { text: "Done." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [there, absent] = await results(session)
  expect(there).toBe(absent)
})

test("the token is not shown, even if everything is allowed", async () => {
  await using scene = await runScene({
    config: { permission: { "*": "allow" } },
    script: (_, n) =>
      n > 0
        ? { text: "Done." }
        : {
            calls: [
              `curl -s --url file://${scene.data}/token`,
              "grep -r the-token ..",
              "grep -R the-token ../data/..",
            ].map((command) => ({ tool: "bash", input: { command } })),
          },
  })
  await writeFile(join(scene.data, "token"), "the-token-itself")
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  expect((await results(session)).join()).not.toContain("the-token-itself")
})

test("control characters in AGENTS.md are not in the system prompt", async () => {
  await using scene = await runScene({
    files: { "AGENTS.md": "Be \u0000 brief.\u001b[2J" },
    script: [{ text: "Fine." }],
  })
  await (await scene.stemma.sessions.create()).prompt("Go")
  expect(JSON.stringify(scene.model.requests[0]!.system)).toContain("brief")
  expect(JSON.stringify(scene.model.requests[0]!.system)).not.toMatch(/\\u0000|\\u001b/)
})
