// Agents that give tasks to other agents, each in a child session. Run it: node examples/10-subagents.ts
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createScriptedModel, type ModelRequest, openStemma, type ScriptedAnswer } from "../src/index.ts"

const directory = await mkdtemp(join(tmpdir(), "stemma-subagents-"))
await writeFile(join(directory, "menu.txt"), "oolong 3\nsencha 4\n")
await writeFile(join(directory, "stock.txt"), "oolong: none\nsencha: 12\n")

const call = (tool: string, input: object) => ({ tool, input })
const task = (agent: string, prompt: string, more: object = {}) =>
  call("task", { description: prompt.slice(0, -1), prompt, subagent_type: agent, ...more })
let child = "" // the session of the first task

/** Chooses an answer by the last prompt. A child session gets only the prompt of its task. */
const script: [RegExp, (asked: string) => ScriptedAnswer][] = [
  [
    /^What can we/,
    () => ({ calls: [task("explore", "Read menu.txt."), task("explore", "Read stock.txt.")] }),
  ],
  [/^Read /, (asked) => ({ calls: [call("read", { filePath: asked.slice(5, -1) })] })],
  [/^And the dear/, () => ({ calls: [task("explore", "Which is dearest?", { session_id: child })] })],
  [/^Which is/, () => ({ text: "Sencha: I have read the menu before." })],
  [/^Write it/, () => ({ calls: [task("general", "Put sencha into sold.txt.")] })],
  [/^Put/, () => ({ calls: [call("write", { filePath: "sold.txt", content: "sencha" })] })],
  [/^Count/, (asked) => ({ text: `${asked.split("\n").filter((line) => /\d$/.test(line)).length} lines.` })],
]
async function answer({ messages, tools, readFile }: ModelRequest): Promise<ScriptedAnswer> {
  const { role, content } = messages.at(-1)!
  const texts = content.map(async (part) => {
    if (part.type === "file") return new TextDecoder().decode(await readFile(part.url))
    return part.type === "text" ? part.text : ""
  })
  const asked = (await Promise.all(texts)).join("\n")
  if (role === "user") return script.find(([start]) => start.test(asked))![1](asked)
  return { text: tools.some(({ name }) => name === "task") ? "We sell sencha." : "It is done." }
}
const model = createScriptedModel(answer, { price: { input: 2, output: 10 } })

const stemma = await openStemma({
  directory,
  data: join(directory, ".data"),
  interactive: true, // a person is there to answer questions
  models: { mine: () => model },
  config: {
    model: "mine/script",
    title: false,
    command: { count: { template: "Count the lines of @menu.txt. $ARGUMENTS", agent: "explore" } },
  },
})
const session = await stemma.sessions.create({ title: "The shop" })

// The tasks of one step run at the same time. The part of a task call names the child session before the child starts.
const named = new Set<unknown>()
for await (const { type, properties } of session.prompt("What can we sell today?")) {
  if (type !== "message.part.updated" || properties.part.type !== "tool") continue
  const { state } = properties.part
  if (state.status !== "running" || state.metadata?.sessionId === undefined) continue
  named.add(state.metadata.sessionId)
}
console.log(`${named.size} children were named while they worked.`)
for (const { parts } of await session.messages()) {
  for (const part of parts) {
    if (part.type !== "tool" || part.state.status !== "completed") continue
    child ||= String(part.state.metadata.sessionId)
    const summary = part.state.metadata.summary as { tool: string; state: { title: string } }[]
    console.log(
      `${part.state.title}: ${summary.map(({ tool, state }) => `${tool} ${state.title}`).join(", ")}`,
    )
  }
}

// With `session_id`, the task continues in the same child session, with its history.
await session.prompt("And the dearest?")
console.log(`\nThe first child:\n${await (await stemma.sessions.get(child)).transcript()}`)

// A child's permission question also reaches the subscribers of its parent, which can answer it.
for await (const { type, properties } of session.prompt("Write it down.")) {
  if (type !== "permission.asked") continue
  const { id, permission, patterns, path = [] } = properties.request
  console.log(`\nAsked ${path.length - 1} below: ${permission} ${patterns.join(", ")}`)
  await stemma.permissions.reply(session.id, id, { reply: "once" })
}

// A command for a subagent starts a task without asking a model first.
await session.command("count")
const sessions = await stemma.sessions.tree(session.id)
console.log(`\n/count gave:\n${await (await stemma.sessions.get(sessions.at(-1)!.id)).text()}`)

console.log(`\n${sessions.map(({ title }) => title).join("\n")}`)
const { cost, tree } = await session.usage()
console.log(`$${cost.toFixed(4)} for the session, $${tree.cost.toFixed(4)} for all ${tree.sessions}.`)

await stemma.close()
await rm(directory, { recursive: true })
