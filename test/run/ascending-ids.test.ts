import { randomBytes } from "node:crypto"
import { expect, test } from "vitest"
import type { HistoryItem, SessionHandle, Stemma } from "../../src/index.ts"
import { runScene } from "../support/run-scene.ts"
import { randomFrom, repeats, testSeed } from "../support/seed.ts"

const { seed } = testSeed("ascending ids")
const hourMs = 3_600_000

/** An id as OpenCode's programs make it: the time and a counter in hex, then random digits. */
let counter = 0
function opencodeID(): string {
  const time = (BigInt(Date.now()) * 4096n + BigInt(++counter)) & 0xffffffffffffn
  return `msg_${time.toString(16).padStart(12, "0")}${randomBytes(7).toString("hex")}`
}

const calls = (n: number) => ({
  text: `Step ${n}.`,
  reasoning: "Hm.",
  calls: [
    { tool: "list", input: {} },
    { tool: "write", input: { filePath: `${n}.txt`, content: `${n}\n` } },
    { tool: "todowrite", input: { todos: [] } },
    { tool: "glob", input: { pattern: "*.txt" } },
  ],
})

const steps: { name: string; run: (session: SessionHandle, stemma: Stemma) => PromiseLike<unknown> }[] = [
  { name: "prompt", run: (session) => session.prompt("Go") },
  { name: "prompt with calls", run: (session) => session.prompt("Use tools") },
  { name: "prompt with an id", run: (session) => session.prompt("Use tools", { messageID: opencodeID() }) },
  { name: "prompt with a reference", run: (session) => session.prompt("Read @known.txt and @other.txt") },
  { name: "command", run: (session) => session.shell("echo hello") },
  { name: "command with an id", run: (session) => session.shell("echo hello", { messageID: opencodeID() }) },
  { name: "append", run: (session) => session.append({ role: "user", text: "By the way" }) },
  {
    name: "subtask",
    run: (session) =>
      session.prompt([{ type: "subtask", description: "Look", prompt: "Look around", agent: "general" }]),
  },
]

test("messages and parts have ascending ids, in one process and in several whose clocks differ", async () => {
  const random = randomFrom(seed)
  for (let round = 0; round < repeats({ test: 3, soak: 100 }); round++) {
    await using scene = await runScene({
      files: { "known.txt": "known\n", "other.txt": "other\n" },
      git: true,
      script: ({ messages }, n) => {
        const last = messages.at(-1)
        const isPrompt = last?.role === "user" && JSON.stringify(last.content).includes("Use tools")
        return isPrompt ? calls(n) : { text: `Answer ${n}.` }
      },
    })
    const ahead = await scene.again({ clock: { now: () => 1_900_000_000_000 } })
    const behind = await scene.again({ clock: { now: () => Date.now() - hourMs } })
    const { id } = await scene.stemma.sessions.create()
    const trace: string[] = []
    for (let step = 0; step < 8; step++) {
      const stemma = [scene.stemma, ahead, behind][Math.floor(random() * 3)]!
      const { name, run } = steps[Math.floor(random() * steps.length)]!
      trace.push(name)
      await run(await stemma.sessions.get(id), stemma)
      const items = await (await stemma.sessions.get(id)).messages()
      expect(disorder(items), trace.join(", ")).toEqual([])
    }
  }
}, 120_000)

/** Messages and parts whose ids are not above those before them. */
function disorder(items: readonly HistoryItem[]): string[] {
  const found: string[] = []
  const ascend = (what: string, ids: readonly string[]) => {
    for (const [index, id] of ids.entries())
      if (index > 0 && id <= ids[index - 1]!) found.push(`${what}: ${ids[index - 1]} ${id}`)
  }
  ascend(
    "messages",
    items.map(({ message }) => message.id),
  )
  for (const { message, parts } of items)
    ascend(
      `${message.role} ${parts.map(({ type }) => type).join(" ")}`,
      parts.map(({ id }) => id),
    )
  return found
}

test("prompts that wait at the same time get ids of their own, also above the id of another program", async () => {
  await using scene = await runScene({ script: [{ text: "One." }, { text: "Two." }, { text: "Three." }] })
  const session = await scene.stemma.sessions.create()
  await session.append({ role: "user", id: "msg_1f3a9c7b2d4eAbCdEfGhIjKlMn", text: "Before." })
  const prompts = ["continue", "continue", "stop"].map((text) => session.prompt(text, { delivery: "queue" }))
  const ids = await Promise.all(prompts.map((prompt) => prompt.messageID))
  expect(new Set(ids).size).toBe(3)
  for (const id of ids) expect(id > "msg_1f3a9c7b2d4eAbCdEfGhIjKlMn").toBe(true)
  for (const prompt of prompts) expect((await prompt).error).toBeUndefined()
  const asked = (await session.messages()).filter(({ message }) => message.role === "user")
  expect(asked).toHaveLength(4)
})
