import type { Digest } from "./digest.ts"
import type { DemoCall, DemoTodo } from "./wish.ts"

/** All sentences of the guide in one language. */
export interface Phrases {
  help: string
  announce(call: DemoCall): string
  /** Reports a result. The lines of the result follow if the sentence ends with a colon. */
  report(call: DemoCall, digest: Digest): string
  failed(call: DemoCall, reason: string): string
  refused(call: DemoCall, reason: string): string
  skipped(call: DemoCall): string
  unavailable(call: DemoCall): string
  unheard(clauses: readonly string[]): string
}

function input({ input }: DemoCall, name: string): string {
  const value = input[name]
  return typeof value === "string" ? value.replace(/\s+/g, " ").slice(0, 200).toWellFormed() : ""
}

function todoCounts({ input }: DemoCall): { all: number; done: number } {
  const todos = Array.isArray(input.todos) ? (input.todos as DemoTodo[]) : []
  return { all: todos.length, done: todos.filter((todo) => todo.status === "completed").length }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`
}

const englishTries = [
  "read README.md",
  "find *.ts",
  'search for "hello"',
  "list files",
  "run git status",
  "write hello to notes.txt, then read notes.txt",
  "replace hello with goodbye in notes.txt",
  "todo: buy milk, write code",
  "ask a subagent to find *.md",
  "fetch https://example.com",
]

export const englishPhrases: Phrases = {
  help: [
    "I am the demo guide of Stemma: a few rules, not an AI model. I need no key and no network, and I really call the tools, so you can see everything work. Try one of these, or several in one message:",
    "",
    ...englishTries.map((line) => `- \`${line}\``),
    "",
    "For a real model, set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`, or describe a `provider` in `stemma.json`, or run Ollama on this machine. Then start again.",
  ].join("\n"),
  announce(call) {
    switch (call.tool) {
      case "read":
        return `I read ${input(call, "filePath")}.`
      case "glob":
        return `I look for files like ${input(call, "pattern")}.`
      case "grep":
        return `I search for ${input(call, "pattern")}.`
      case "list":
        return `I list ${input(call, "path") || "the files here"}.`
      case "bash":
        return `I run \`${input(call, "command")}\`.`
      case "write":
        return `I write ${input(call, "filePath")}.`
      case "edit":
        return `I change ${input(call, "filePath")}.`
      case "webfetch":
        return `I fetch ${input(call, "url")}.`
      case "task":
        return `I ask a subagent (${input(call, "subagent_type")}).`
      case "todoread":
        return "I look at the todo list."
      case "todowrite":
        return "I write the todo list."
      default:
        return `I call ${call.tool}.`
    }
  },
  report(call, { total }) {
    switch (call.tool) {
      case "read":
        return total === 0
          ? `${input(call, "filePath")} is empty.`
          : `${input(call, "filePath")} has ${counted(total, "line")}. It begins:`
      case "glob":
        return total === 0
          ? `No file matches ${input(call, "pattern")}.`
          : `${counted(total, "file")} like ${input(call, "pattern")}:`
      case "grep":
        return total === 0
          ? `Nothing contains ${input(call, "pattern")}.`
          : `The search for ${input(call, "pattern")} gave ${counted(total, "line")}:`
      case "list":
        return total === 0
          ? `There is nothing in ${input(call, "path") || "this directory"}.`
          : `The list of ${input(call, "path") || "this directory"} has ${counted(total, "line")}:`
      case "bash":
        return total === 0
          ? `\`${input(call, "command")}\` ran and printed nothing.`
          : `\`${input(call, "command")}\` printed ${counted(total, "line")}:`
      case "write":
        return `${input(call, "filePath")} is written.`
      case "edit":
        return `${input(call, "filePath")} is changed.`
      case "webfetch":
        return total === 0
          ? `${input(call, "url")} is empty.`
          : `${input(call, "url")} gave ${counted(total, "line")}:`
      case "task":
        return total === 0 ? "The subagent is done and said nothing." : "The subagent answered:"
      case "todowrite": {
        const { all, done } = todoCounts(call)
        return `The todo list has ${all === 1 ? "1 entry" : `${all} entries`} now, ${done} of them done.`
      }
      case "todoread":
        return total === 0 ? "The todo list is empty." : "The todo list:"
      default:
        return total === 0 ? `${call.tool} is done.` : `${call.tool} gave ${counted(total, "line")}:`
    }
  },
  failed: (call, reason) => `That did not work (${call.tool}): ${reason}`,
  refused: (call, reason) => `I may not do that (${call.tool}), so I leave it: ${reason}`,
  skipped: (call) => `So I leave out the rest of it (${call.tool}).`,
  unavailable: (call) => `I would need the tool ${call.tool} for this; it is not available here.`,
  unheard: (clauses) =>
    `I did not understand ${clauses.map((clause) => `"${clause}"`).join(" and ")}. Say \`help\` to see what I can do.`,
}

const chineseTries = [
  "读 README.md",
  "找 *.ts",
  "搜索“hello”",
  "列出文件",
  "运行 git status",
  "把“你好”写到 notes.txt，然后读 notes.txt",
  "把 notes.txt 里的“你好”改成“再见”",
  "待办：买牛奶、写代码",
  "让子代理找 *.md",
  "抓取 https://example.com",
]

export const chinesePhrases: Phrases = {
  help: [
    "我是 Stemma 的演示向导：只有几条规则，不是 AI 模型。我不需要密钥，也不需要网络，但会真的调用工具，让您看到一切如何运作。试试下面的任意一句，也可以一次说好几件事：",
    "",
    ...chineseTries.map((line) => `- ${line}`),
    "",
    "要使用真正的模型，请设置 `OPENAI_API_KEY` 或 `ANTHROPIC_API_KEY`，或者在 `stemma.json` 里写好 `provider`，或者在本机运行 Ollama，然后重新启动。",
  ].join("\n"),
  announce(call) {
    switch (call.tool) {
      case "read":
        return `我来读 ${input(call, "filePath")}。`
      case "glob":
        return `我来找 ${input(call, "pattern")} 这样的文件。`
      case "grep":
        return `我来搜索 ${input(call, "pattern")}。`
      case "list":
        return `我来列出${input(call, "path") ? ` ${input(call, "path")} ` : "这里"}的文件。`
      case "bash":
        return `我来运行 \`${input(call, "command")}\`。`
      case "write":
        return `我来写 ${input(call, "filePath")}。`
      case "edit":
        return `我来修改 ${input(call, "filePath")}。`
      case "webfetch":
        return `我来抓取 ${input(call, "url")}。`
      case "task":
        return `我请子代理（${input(call, "subagent_type")}）来做。`
      case "todoread":
        return "我来看看待办列表。"
      case "todowrite":
        return "我来写待办列表。"
      default:
        return `我来调用 ${call.tool}。`
    }
  },
  report(call, { total }) {
    switch (call.tool) {
      case "read":
        return total === 0
          ? `${input(call, "filePath")} 是空的。`
          : `${input(call, "filePath")} 有 ${total} 行，开头是：`
      case "glob":
        return total === 0
          ? `没有 ${input(call, "pattern")} 这样的文件。`
          : `有 ${total} 个 ${input(call, "pattern")} 这样的文件：`
      case "grep":
        return total === 0
          ? `哪里都没有 ${input(call, "pattern")}。`
          : `搜索 ${input(call, "pattern")} 得到 ${total} 行：`
      case "list":
        return total === 0
          ? `${input(call, "path") || "这个目录"}里什么也没有。`
          : `${input(call, "path") || "这个目录"}的列表有 ${total} 行：`
      case "bash":
        return total === 0
          ? `\`${input(call, "command")}\` 运行完毕，没有输出。`
          : `\`${input(call, "command")}\` 输出了 ${total} 行：`
      case "write":
        return `${input(call, "filePath")} 写好了。`
      case "edit":
        return `${input(call, "filePath")} 改好了。`
      case "webfetch":
        return total === 0 ? `${input(call, "url")} 是空的。` : `${input(call, "url")} 有 ${total} 行：`
      case "task":
        return total === 0 ? "子代理做完了，没有说什么。" : "子代理回答："
      case "todowrite": {
        const { all, done } = todoCounts(call)
        return `待办列表现在有 ${all} 项，完成了 ${done} 项。`
      }
      case "todoread":
        return total === 0 ? "待办列表是空的。" : "待办列表："
      default:
        return total === 0 ? `${call.tool} 完成了。` : `${call.tool} 得到 ${total} 行：`
    }
  },
  failed: (call, reason) => `没有成功（${call.tool}）：${reason}`,
  refused: (call, reason) => `这件事不允许我做（${call.tool}），我就不做了：${reason}`,
  skipped: (call) => `所以剩下的一步（${call.tool}）我也不做了。`,
  unavailable: (call) => `这件事需要工具 ${call.tool}，但这里没有。`,
  unheard: (clauses) =>
    `我没有听懂${clauses.map((clause) => `“${clause}”`).join("和")}。说“帮助”可以看到我会做什么。`,
}
