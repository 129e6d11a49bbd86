// Permission rules, and a question that another process answers. Run it: node examples/08-permission.ts
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { createScriptedModel, openStemma, type SessionHandle, type StemmaOptions } from "../src/index.ts"

const [role, path = "", askedID = ""] = process.argv.slice(2)
const directory = role === "person" ? path : await mkdtemp(join(tmpdir(), "stemma-permission-"))
const run = (command: string) => ({ calls: [{ tool: "bash", input: { command } }] })
const model = createScriptedModel((_, n) => {
  const commands = ["wc -l menu.txt", "wc -c menu.txt", "rm menu.txt", "wc menu.txt"]
  return n % 2 === 0 ? run(commands[n / 2]!) : { text: "Done." }
})
const options: StemmaOptions = {
  directory,
  data: join(directory, ".data"),
  models: { mine: () => model },
  config: {
    model: "mine/script",
    title: false,
    // Within a set the later rule wins. An action without a matching rule is asked.
    permission: { edit: { "*": "ask", "docs/*": "allow" }, bash: { "*": "ask", "rm *": "deny" } },
  },
}
if (role === "person") await answer()
else await work()

/** Runs in another process. A question is a row in the store, so any process that opens the store may answer. */
async function answer(): Promise<void> {
  await using stemma = await openStemma(options)
  for (let tries = 0; tries < 1000; tries++) {
    const [question] = await stemma.permissions.open(askedID)
    if (question) {
      const { permission, patterns, always } = question
      console.log(
        `Asked: ${permission} ${patterns.join(", ")}. The person says always, for ${always.join(", ")}.`,
      )
      return await stemma.permissions.reply(askedID, question.id, { reply: "always" })
    }
    await sleep(20)
  }
}

async function work(): Promise<void> {
  await writeFile(join(directory, "menu.txt"), "tea\n")
  // `interactive`: a person is there to answer questions.
  const stemma = await openStemma({ ...options, interactive: true })
  const session = await stemma.sessions.create()
  const args = [import.meta.filename, "person", directory, session.id]
  const exit = once(spawn(process.execPath, args, { stdio: "inherit" }), "exit")
  console.log(`Counting lines: ${await ask(session, "Count lines.")}`)
  console.log(`The same kind again is not asked: ${await ask(session, "Count bytes.")}`)
  console.log(`A deny is never asked: ${await ask(session, "Remove it.")}`)
  await exit

  // `always` answers are kept for this project and can be revoked.
  for (const { id, permission, pattern } of await stemma.permissions.granted()) {
    console.log(`Revoked: ${permission} ${pattern}`)
    await stemma.permissions.revoke(id)
  }
  await stemma.close()

  // Without a person who can answer, a question is refused at once.
  const alone = await openStemma(options)
  console.log(`With nobody there: ${await ask(await alone.sessions.get(session.id), "Count.")}`)
  await alone.close()
  await rm(directory, { recursive: true })
}

/** The result of the last tool call. */
async function ask(session: SessionHandle, prompt: string): Promise<string> {
  await session.prompt(prompt)
  return (await session.transcript()).split("tool_result: ").at(-1)!.split("\n")[0]!
}
