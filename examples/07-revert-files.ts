// An agent changes files, and a revert restores them. Run it: node examples/07-revert-files.ts
import { execFileSync } from "node:child_process"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createScriptedModel, openStemma } from "../src/index.ts"

// A git project with one file, and the store's data outside of it.
const directory = await mkdtemp(join(tmpdir(), "stemma-revert-"))
const project = join(directory, "project")
execFileSync("git", ["init", "--quiet", project])
await writeFile(join(project, "menu.txt"), "tea\n")

const change = (oldString: string, newString: string) => ({
  calls: [
    { tool: "edit", input: { filePath: "menu.txt", oldString, newString } },
    { tool: "write", input: { filePath: `${newString}.txt`, content: `About ${newString}.\n` } },
  ],
})
const model = createScriptedModel([
  { calls: [{ tool: "read", input: { filePath: "menu.txt" } }] },
  change("tea", "oolong"),
  { text: "The menu says oolong." },
  change("oolong", "coffee"),
  { text: "The menu says coffee." },
  { text: "Here I know of oolong only." },
])
const stemma = await openStemma({
  directory: project,
  data: join(directory, "data"),
  models: { mine: () => model },
  config: { model: "mine/script", title: false, permission: { edit: "allow" } },
})

const session = await stemma.sessions.create({ title: "The menu" })
await session.prompt("Offer oolong.")
const second = await session.prompt("Offer coffee instead.")
await show("Two prompts later")
const { additions, deletions, files } = (await session.info()).summary!
console.log(`The session changed ${files} files: ${additions} lines added, ${deletions} removed.\n`)

// A person edits files, too. A revert changes only files that the reverted messages changed.
await writeFile(join(project, "mine.txt"), "a person's own\n")

// Reverts the session and its files to before the second prompt.
const prompt = second.message.parentID
const reverted = await stemma.sessions.revert(session.id, { messageID: prompt })
await show(`Reverted ${reverted.files.sort().join(", ")}`)

// Until the next prompt, the revert can be undone.
await stemma.sessions.unrevert(session.id)
await show("Unreverted")

// A fork is a new session with the history before a message. Both sessions share the files as they are now.
const fork = await stemma.sessions.fork(session.id, { messageID: prompt, title: "Without coffee" })
console.log(
  `The fork has ${(await fork.messages()).length} messages of ${(await session.messages()).length}.`,
)
console.log((await fork.prompt("What do you know?")).text)

await stemma.close()
await rm(directory, { recursive: true })

async function show(what: string): Promise<void> {
  const names = (await readdir(project)).filter((name) => name.endsWith(".txt"))
  const menu = await readFile(join(project, "menu.txt"), "utf8")
  console.log(`${what}: the menu says ${menu.trim()}; there are ${names.sort().join(", ")}`)
}
