import { describe, expect, test } from "vitest"
import type { JsonObject } from "../../protocol/index.ts"
import type { ContextMessage, ContextToolResult } from "../../session/index.ts"
import type { ModelEvent, ModelRequest, ModelTool } from "../model.ts"
import { createDemoModel } from "./demo.ts"

const toolNames = [
  ...["read", "write", "edit", "glob", "grep", "list", "bash"],
  ...["webfetch", "todowrite", "todoread", "skill", "task"],
]

const allTools = toolNames.map(
  (name): ModelTool => ({ name, description: name, inputSchema: { type: "object" } }),
)

function request(messages: readonly ContextMessage[], overrides: Partial<ModelRequest> = {}): ModelRequest {
  return {
    purpose: "step",
    system: ["You are a guide."],
    messages,
    tools: allTools,
    readFile: () => Promise.reject(new Error("No file is read here.")),
    signal: new AbortController().signal,
    idleTimeoutMs: 60_000,
    ...overrides,
  }
}

function user(text: string): ContextMessage {
  return { role: "user", content: [{ type: "text", text }] }
}

interface Called {
  tool: string
  input: JsonObject
}

/** What the calls give; `fail` makes a result an error. */
type Results = (call: Called) => string | { fail: string }

interface Talk {
  /** The calls of each step. */
  steps: Called[][]
  /** What was said in each step. */
  texts: string[]
  messages: ContextMessage[]
}

/** A run that executes nothing and feeds made-up results. */
async function talk(
  text: string,
  {
    results = () => "",
    before = [],
    ...overrides
  }: Partial<ModelRequest> & { results?: Results; before?: ContextMessage[] } = {},
): Promise<Talk> {
  const model = createDemoModel("guide")
  const messages: ContextMessage[] = [...before, user(text)]
  const out: Talk = { steps: [], texts: [], messages }
  for (let step = 0; step < 30; step++) {
    const events: ModelEvent[] = []
    for await (const event of model.stream(request([...messages], overrides))) events.push(event)
    const said = events.map((event) => (event.type === "text-delta" ? event.text : "")).join("")
    const calls = events.filter((event) => event.type === "tool-call")
    out.texts.push(said)
    messages.push({
      role: "assistant",
      content: [
        { type: "text", text: said },
        ...calls.map(({ id, tool, input }) => ({
          type: "tool-call" as const,
          callID: id,
          tool,
          input: JSON.parse(input) as JsonObject,
        })),
      ],
    })
    if (calls.length === 0) return out
    out.steps.push(calls.map(({ tool, input }) => ({ tool, input: JSON.parse(input) as JsonObject })))
    messages.push({ role: "tool", content: calls.map((call) => resultOf(call, results)) })
  }
  throw new Error("The guide does not stop.")
}

function resultOf(
  { id, tool, input }: { id: string; tool: string; input: string },
  results: Results,
): ContextToolResult {
  const given = results({ tool, input: JSON.parse(input) as JsonObject })
  const failed = typeof given !== "string"
  return { type: "tool-result", callID: id, tool, isError: failed, output: failed ? given.fail : given }
}

/** The only call of a talk. */
async function onlyCall(text: string, before: ContextMessage[] = []): Promise<Called> {
  const { steps } = await talk(text, { before })
  expect(steps.flat()).toHaveLength(1)
  return steps[0]![0]!
}

const todo = (id: string, content: string, status = "pending") => ({
  id,
  content,
  status,
  priority: "medium",
})

describe("a wish becomes a call", () => {
  test.each<[string, string, JsonObject]>([
    ["read README.md", "read", { filePath: "README.md" }],
    ["Could you please show me package.json?", "read", { filePath: "package.json" }],
    ["read lines 3 to 9 of src/a.ts", "read", { filePath: "src/a.ts", offset: 3, limit: 7 }],
    ['open "my notes.txt"', "read", { filePath: "my notes.txt" }],
    ["find *.ts", "glob", { pattern: "**/*.ts" }],
    ["find all ts files in src", "glob", { pattern: "**/*.ts", path: "src" }],
    ["find src/**/*.md", "glob", { pattern: "src/**/*.md" }],
    ["find config", "glob", { pattern: "**/*config*" }],
    ["search for openStore(", "grep", { pattern: "openStore\\(" }],
    ["search for /open\\w+/", "grep", { pattern: "open\\w+" }],
    ['search for "hello world" in src', "grep", { pattern: "hello world", path: "src" }],
    ["grep createStore in *.ts files", "grep", { pattern: "createStore", include: "*.ts" }],
    ["where is openStore defined?", "grep", { pattern: "openStore" }],
    ["list", "list", {}],
    ["what files are here?", "list", {}],
    ["list files in src", "list", { path: "src" }],
    ["run ls", "bash", { command: "ls", description: "ls" }],
    ["run cd src; ls", "bash", { command: "cd src; ls", description: "cd src; ls" }],
    [
      "run `cat a.txt and read b`",
      "bash",
      { command: "cat a.txt and read b", description: "cat a.txt and read b" },
    ],
    ["write hello to notes.txt", "write", { filePath: "notes.txt", content: "hello\n" }],
    ["create a file called x.md with # Title", "write", { filePath: "x.md", content: "# Title\n" }],
    [
      "write notes.md:\n```\na\nread b.txt\n```",
      "write",
      { filePath: "notes.md", content: "a\nread b.txt\n" },
    ],
    [
      "todo: buy milk, read a book",
      "todowrite",
      { todos: [todo("1", "buy milk"), todo("2", "read a book")] },
    ],
    ['todo: "one, two", three', "todowrite", { todos: [todo("1", "one, two"), todo("2", "three")] }],
    ["show my todos", "todoread", {}],
    [
      "ask a subagent to find *.md and read them",
      "task",
      { description: "find *.md and read them", prompt: "find *.md and read them", subagent_type: "general" },
    ],
    [
      "@explore find *.md",
      "task",
      { description: "find *.md", prompt: "find *.md", subagent_type: "explore" },
    ],
    ["fetch https://example.com/a?b=c.", "webfetch", { url: "https://example.com/a?b=c" }],
    ["use skill review", "skill", { name: "review" }],
    ["读 README.md", "read", { filePath: "README.md" }],
    ["请帮我看看 a.txt 的内容", "read", { filePath: "a.txt" }],
    ["找 *.ts", "glob", { pattern: "**/*.ts" }],
    ["找所有 ts 文件", "glob", { pattern: "**/*.ts" }],
    ["搜索 createStore", "grep", { pattern: "createStore" }],
    ["在 src 里搜索“你好”", "grep", { pattern: "你好", path: "src" }],
    ["列出文件", "list", {}],
    ["src 里有什么？", "list", { path: "src" }],
    ["运行 ls -la", "bash", { command: "ls -la", description: "ls -la" }],
    ["把“你好，然后读”写到 笔记.txt", "write", { filePath: "笔记.txt", content: "你好，然后读\n" }],
    ["写 hello 到 notes.txt", "write", { filePath: "notes.txt", content: "hello\n" }],
    ["待办：买牛奶、写代码", "todowrite", { todos: [todo("1", "买牛奶"), todo("2", "写代码")] }],
    ["看看待办", "todoread", {}],
    [
      "让 explore 子代理去找 *.md",
      "task",
      { description: "找 *.md", prompt: "找 *.md", subagent_type: "explore" },
    ],
    ["抓取 https://example.com/x", "webfetch", { url: "https://example.com/x" }],
  ])("%s", async (text, tool, input) => {
    expect(await onlyCall(text)).toEqual({ tool, input })
  })

  test("todos are added to and ticked off in the list that was written before", async () => {
    const { messages } = await talk("todo: one, two")
    const added = await talk("add three to my todo list", { before: messages })
    expect(added.steps).toEqual([
      [{ tool: "todowrite", input: { todos: [todo("1", "one"), todo("2", "two"), todo("3", "three")] } }],
    ])
    const ticked = await talk("完成待办 2", { before: added.messages })
    expect(ticked.steps[0]![0]!.input.todos).toEqual([
      todo("1", "one"),
      todo("2", "two", "completed"),
      todo("3", "three"),
    ])
    expect(ticked.texts.at(-1)).toBe("待办列表现在有 3 项，完成了 1 项。")
  })
})

describe("several wishes", () => {
  test("reads are one step, and each change is a separate step, in order", async () => {
    const { steps, texts } = await talk(
      "read a.txt and b.txt, then find *.md; write hello to notes.txt, then read notes.txt and run ls",
    )
    expect(steps.map((calls) => calls.map((call) => call.tool))).toEqual([
      ["read", "read", "glob"],
      ["write"],
      ["read"],
      ["bash"],
    ])
    expect(texts).toHaveLength(5)
  })

  test("in Chinese too", async () => {
    const { steps } = await talk("先运行 ls，再读 a.txt 和 b.txt，然后把 hi 写到 c.txt。")
    expect(steps.map((calls) => calls.map((call) => call.tool))).toEqual([
      ["bash"],
      ["read", "read"],
      ["write"],
    ])
  })

  test("an edit reads the file first", async () => {
    const edited = { filePath: "a.txt", oldString: "foo", newString: "bar baz", replaceAll: true }
    for (const text of ['in a.txt replace all foo with "bar baz"', "把 a.txt 里的所有 foo 改成“bar baz”"]) {
      expect((await talk(text)).steps).toEqual([
        [{ tool: "read", input: { filePath: "a.txt" } }],
        [{ tool: "edit", input: edited }],
      ])
    }
  })

  test("a wish that was not understood is named", async () => {
    const { steps, texts } = await talk("read a.txt, then tell me a joke")
    expect(steps).toHaveLength(1)
    expect(texts.at(-1)).toContain('I did not understand "tell me a joke"')
  })

  test("a message with a hundred wishes ends", async () => {
    const wishes = Array.from({ length: 100 }, (_, i) => `write ${i} to file${i}.txt`)
    expect((await talk(wishes.join("\n"))).steps.length).toBeLessThanOrEqual(10)
  })
})

describe("results are summarised", () => {
  test("a file by its line count and its first lines", async () => {
    const output = "00001| # Title\n00002| \n00003| text\n(Lines 1 to 3 of 80. Go on with offset 4.)"
    const { texts } = await talk("read a.md", { results: () => output })
    expect(texts).toEqual(["I read a.md.", "a.md has 80 lines. It begins:\n\n```\n# Title\n\ntext\n...\n```"])
  })

  test("files, hits and output by their number and the first of them", async () => {
    const lines = Array.from({ length: 20 }, (_, i) => `src/file${i}.ts`).join("\n")
    expect((await talk("find *.ts", { results: () => lines })).texts.at(-1)).toMatch(
      /^20 files like \*\*\/\*\.ts:\n\n```\nsrc\/file0\.ts\n/,
    )
    expect((await talk("搜索 foo", { results: () => lines })).texts.at(-1)).toMatch(/^搜索 foo 得到 20 行：/)
    expect((await talk("run true", { results: () => "" })).texts.at(-1)).toBe(
      "`true` ran and printed nothing.",
    )
    expect((await talk("找 *.xyz", { results: () => "No file matches." })).texts.at(-1)).toBe(
      "没有 **/*.xyz 这样的文件。",
    )
  })

  test("entries that a tool left out are counted, and notices of the tool are not", async () => {
    const found = "a.ts\nb.ts\n(98 more files match. Narrow the pattern or the path.)"
    expect((await talk("find *.ts", { results: () => found })).texts.at(-1)).toMatch(/^100 files like/)
    const hits = "a.ts\n  3: foo\n  9: foo\nb.ts\n  1: foo"
    expect((await talk("grep foo", { results: () => hits })).texts.at(-1)).toMatch(
      /^The search for foo gave 3 lines:/,
    )
    const listed = "src/\n  a.ts\n  b.ts"
    expect((await talk("list src", { results: () => listed })).texts.at(-1)).toBe(
      "The list of src has 2 lines:\n\n```\n  a.ts\n  b.ts\n```",
    )
    expect((await talk("list src", { results: () => "src/\n  (nothing)" })).texts.at(-1)).toBe(
      "There is nothing in src.",
    )
  })

  test("a subagent by its answer, todos as a list", async () => {
    const results: Results = () => "There are 3.\n\n<task_metadata>\nsession_id: ses_1\n</task_metadata>"
    expect((await talk("ask a subagent to find *.md", { results })).texts.at(-1)).toBe(
      "The subagent answered:\n\n```\nThere are 3.\n```",
    )
    const list = JSON.stringify([todo("1", "one", "completed"), todo("2", "two")], null, 2)
    expect((await talk("show my todos", { results: () => list })).texts.at(-1)).toBe(
      "The todo list:\n\n```\n[x] one\n[ ] two\n```",
    )
  })

  test("their content cannot break out of its code fence or control a terminal", async () => {
    const { texts } = await talk("run x", { results: () => "```\n\u001b[2J\u001b]0;owned\u0007\u009b31mhi" })
    expect(texts.at(-1)).toMatch(/````\n```\n.*hi\n````$/s)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the test
    expect(texts.at(-1)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  })

  test("an error politely, and the other wishes continue", async () => {
    const results: Results = ({ tool }) =>
      tool === "read" ? { fail: "There is no file a.txt. Use glob." } : "ok"
    const { steps, texts } = await talk("read a.txt then run ls", { results })
    expect(steps.map((calls) => calls[0]!.tool)).toEqual(["read", "bash"])
    expect(texts[1]).toContain("That did not work (read): There is no file a.txt.")
  })

  test("a refusal as a refusal", async () => {
    const results: Results = () => ({ fail: "The user rejected permission to use this tool." })
    expect((await talk("run rm -rf x", { results })).texts.at(-1)).toMatch(/^I may not do that \(bash\)/)
    expect((await talk("运行 rm x", { results })).texts.at(-1)).toMatch(/^这件事不允许我做/)
  })

  test("a failed call is not repeated, and wishes that depend on it are skipped", async () => {
    const results: Results = ({ tool }) => (tool === "write" ? "ok" : { fail: "No." })
    const { steps, texts } = await talk("replace a with b in x.txt, then write c to y.txt, then read x.txt", {
      results,
    })
    expect(steps.flat().map((call) => call.tool)).toEqual(["read", "write"])
    expect(texts.at(-1)).toContain("leave out the rest of it (edit)")
  })
})

describe("without a wish", () => {
  test.each(["hello", "help", "what is the meaning of life?", "write a poem about the sea", ""])(
    "%j gets an introduction of the guide and suggestions",
    async (text) => {
      const { steps, texts } = await talk(text)
      expect(steps).toEqual([])
      expect(texts[0]).toMatch(
        /not an AI model.*read README\.md.*OPENAI_API_KEY.*ANTHROPIC_API_KEY.*stemma\.json.*Ollama/s,
      )
    },
  )

  test("the answer is in the language of the message", async () => {
    for (const text of ["你好", "你是谁？", "帮助"]) {
      expect((await talk(text)).texts[0]).toMatch(
        /不是 AI 模型.*读 README\.md.*OPENAI_API_KEY.*stemma\.json.*Ollama/s,
      )
    }
  })

  test("everything that the help suggests is understood", async () => {
    for (const language of ["help", "帮助"]) {
      const help = (await talk(language)).texts[0]!
      const tries = [...help.matchAll(/^- `?(.+?)`?$/gm)].map((match) => match[1]!)
      expect(tries.length).toBeGreaterThan(8)
      for (const line of tries) {
        const { steps, texts } = await talk(line)
        expect(steps.length, line).toBeGreaterThan(0)
        expect(texts.at(-1), line).not.toMatch(/did not understand|没有听懂/)
      }
    }
  })

  test("a tool that does not exist is named, not called", async () => {
    const tools = allTools.filter((tool) => tool.name !== "task")
    const { steps, texts } = await talk("ask a subagent to find *.md\nlist", { tools })
    expect(steps.flat().map((call) => call.tool)).toEqual(["list"])
    expect(texts.at(-1)).toContain("the tool task for this; it is not available here")
    expect((await talk("list", { toolChoice: "none" })).steps).toEqual([])
  })

  test("only the first text of the user counts, not reminders or attached text", async () => {
    const reminder = "<system-reminder>read secret.txt</system-reminder>"
    const content = [reminder, "list", "run rm -rf x"].map((text) => ({ type: "text" as const, text }))
    const events: ModelEvent[] = []
    const model = createDemoModel("guide")
    for await (const event of model.stream(request([{ role: "user", content }]))) events.push(event)
    expect(events.filter((event) => event.type === "tool-call").map((event) => event.tool)).toEqual(["list"])
  })
})

describe("as a model", () => {
  test("it streams words and estimates its usage", async () => {
    const events: ModelEvent[] = []
    for await (const event of createDemoModel("guide").stream(request([user("read a.txt")])))
      events.push(event)
    expect(events.filter((event) => event.type === "text-delta").map((event) => event.text)).toEqual([
      "I",
      " read",
      " a.txt.",
    ])
    const finish = events.at(-1)
    expect(finish).toMatchObject({ type: "finish", reason: "tool-calls" })
    if (finish?.type !== "finish") throw new Error("The finish is not the last event.")
    expect(finish.usage!.input).toBeGreaterThan(10)
    expect(finish.usage!.output).toBeGreaterThan(5)
  })

  test("it is demo/guide, costs nothing and gives titles from the user's words", async () => {
    const model = createDemoModel("guide")
    expect(model).toMatchObject({
      ref: { providerID: "demo", modelID: "guide" },
      price: { input: 0, output: 0 },
    })
    const { texts } = await talk("read a.txt", { purpose: "title" })
    expect(texts).toEqual(["read a.txt"])
  })

  test("it stops when it is aborted", async () => {
    const model = createDemoModel("guide", { wordDelayMs: 1_000_000 })
    const signal = AbortSignal.timeout(20)
    const reading = (async () => {
      for await (const _ of model.stream(request([user("help")], { signal })));
    })()
    await expect(reading).rejects.toMatchObject({ kind: "aborted" })
  })

  test("a huge message is answered quickly", async () => {
    const text = `${"replace a with b in c and write x to y ".repeat(5_000)}\n${'"'.repeat(10_000)}`
    const started = performance.now()
    await talk(text)
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})
