import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import {
  createScriptedModel,
  type ModelRequest,
  openStemma,
  type ScriptedAnswer,
  type Stemma,
  type StemmaOptions,
} from "../../../src/index.ts"
import { createRunTools } from "../run/tools.ts"
import { quickTiming } from "../run-scene.ts"

export async function makeStory(root: string): Promise<void> {
  await mkdir(join(root, "project"))
}

export function storyPaths(root: string) {
  return { project: join(root, "project"), database: join(root, "data", "stemma.db") }
}

/** A Stemma whose model answers by `storyAnswer`, on files that outlive it. */
export async function openStory(root: string, options: StemmaOptions = {}): Promise<Stemma> {
  const ref = { providerID: "scripted", modelID: "m" }
  const model = createScriptedModel(storyAnswer, { ref, price: { input: 3, output: 15 } })
  return openStemma({
    directory: storyPaths(root).project,
    data: join(root, "data"),
    env: { PATH: process.env.PATH, HOME: root },
    models: { scripted: () => model },
    tools: createRunTools({ ran: join(root, "ran.jsonl") }),
    snapshots: false,
    recover: true,
    interactive: true,
    ...options,
    timing: quickTiming,
    config: {
      model: "scripted/m",
      title: false,
      permission: {
        look: "allow",
        note: "allow",
        put: "allow",
        todowrite: "allow",
        task: "allow",
        wish: "ask",
      },
      agent: { worker: { mode: "subagent", description: "Does one thing." } },
    },
  })
}

/**
 * The answers of the model, which depend only on the request, except for failures. `say N` is N words, `list N` writes
 * todos, `work N` calls tools that print, `wish N` asks a person, `give N` gives tasks to subagents, `fail N` breaks
 * off every other time. The second number of each is the delay of a delta.
 */
export function storyAnswer({ messages }: ModelRequest, n: number): ScriptedAnswer {
  const at = messages.findLastIndex((message) => message.role === "user")
  const rounds = messages.length - 1 - at
  const [word = "", first = "0", second = "0"] = promptOf(messages[at]).split(" ")
  const number = Number(first)
  const answer = (text: ScriptedAnswer): ScriptedAnswer => ({
    deltaDelayMs: Number(second),
    usage: { input: 10, output: 5, reasoning: 0, cache: { read: 0, write: 0 } },
    ...text,
  })
  if (rounds > 0) return answer({ text: words("then", number) })
  const call = (tool: string, offset: number) => ({
    tool,
    input: { number: number + offset, waitMs: (number + offset) % 7 },
  })
  switch (word) {
    case "list":
      return answer({
        text: words("list", 3),
        calls: [{ tool: "todowrite", input: { todos: todos(number) } }],
      })
    case "work":
      return answer({
        reasoning: words("thought", 4),
        text: words("work", number),
        calls: [call("look", 0), call("note", 1), call("look", 2)],
      })
    case "wish":
      return answer({ text: words("wish", 2), calls: [call("wish", 0)] })
    case "give":
      return answer({
        calls: [0, 1].map((task) => ({
          tool: "task",
          input: {
            description: "A thing",
            prompt: `say ${number + task} ${second}`,
            subagent_type: "worker",
          },
        })),
      })
    case "fail":
      return answer({
        text: words("fail", number + 4),
        ...(n % 2 === 0 && { error: { kind: "server", afterDeltas: 3 } }),
      })
    default:
      return answer({ reasoning: words("thought", number % 3), text: words(word, number) })
  }
}

function promptOf(message: ModelRequest["messages"][number] | undefined): string {
  const texts = (message?.content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []))
  return texts.findLast((text) => /^(say|list|work|wish|give|fail) \d/.test(text)) ?? "say 3"
}

/** Contains characters of two UTF-16 units, to find code that splits them. */
function words(name: string, count: number): string[] {
  return Array.from({ length: count + 1 }, (_, index) => `${name}${index} 🙂\n`)
}

function todos(count: number) {
  return Array.from({ length: count % 5 }, (_, index) => ({
    content: `Thing ${index} of ${count}`,
    status: index === 0 ? "in_progress" : "pending",
    priority: "low",
  }))
}
