// Asks a model to work on files. Run it: node examples/04-agent.ts ["your own prompt"]
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openStemma, type SessionHandle, type StemmaOptions } from "../src/index.ts"
import { askOnTerminal, createPrinter, plain } from "./terminal.ts"

const prompt = process.argv.slice(2).join(" ").trim()
const over = new AbortController()
try {
  await (prompt === "" ? showAround() : ask(prompt))
} catch (error) {
  console.error(plain(`\n${error instanceof Error ? error.message : error}`))
  process.exitCode = 1
}

/** Uses a temporary project. Without an API key, a running Ollama or a config, the model is demo/guide. */
async function showAround(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "stemma-agent-"))
  const project = join(directory, "tea-shop")
  await mkdir(project)
  await writeFile(join(project, "README.md"), "# Tea shop\n\nOolong, Pu-erh and green tea.\n")
  try {
    await converse(
      {
        directory: project,
        data: join(directory, "data"),
        // Editing needs permission unless a rule allows it. Here the program answers: new files yes, other edits no.
        onPermission: async ({ permission, patterns }) => {
          const isFine = permission === "edit" && patterns.every((name) => name.startsWith("notes"))
          console.log(`\n? ${permission} ${patterns.join(", ")}: ${isFine ? "once" : "no"}`)
          return isFine ? { reply: "once" } : { reply: "reject", feedback: "Only notes may be written here." }
        },
      },
      async (session) => {
        await say(session, "Read README.md and find *.md.")
        await say(session, 'Write "Buy more oolong" to notes.txt, then read notes.txt')
        await say(session, "Todo: order tea, clean the pots")
        console.log(`\nThe transcript, as it is kept:\n\n${await session.transcript()}`)
        console.log('\nNow you: node examples/04-agent.ts "list files"')
      },
    )
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Uses the current directory, your config, and the session of this project, which continues where you left it. */
async function ask(text: string): Promise<void> {
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY
  // Without a terminal no person can answer, and permission questions are refused.
  const onPermission = isTerminal ? { onPermission: askOnTerminal({ signal: over.signal }) } : {}
  await converse(onPermission, (session) => say(session, text))
}

async function converse(
  options: StemmaOptions,
  talk: (session: SessionHandle) => Promise<void>,
): Promise<void> {
  await using stemma = await openStemma(options)
  const { loaded, models } = await (await stemma.project()).setup()
  for (const notice of loaded.notices) console.error(plain(notice))
  console.log(`Model: ${loaded.config.model ?? (await models.standard())}. Directory: ${stemma.directory}`)
  const session = await stemma.sessions.current()
  // The first Ctrl-C aborts the answer, the second one ends the process.
  process.once("SIGINT", () => {
    over.abort()
    session.abort("You stopped it.").catch(console.error)
  })
  await talk(session)
}

async function say(session: SessionHandle, text: string): Promise<void> {
  console.log(plain(`\nYou: ${text}\n`))
  const print = createPrinter()
  const run = session.prompt(text)
  for await (const event of run) print(event)
  const { error, message } = await run
  console.log(message.finish === "rejected" ? "\n(You said no, so it ended here.)" : "")
  if (error) throw new Error(error.data.message)
}
