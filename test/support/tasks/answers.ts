import type { AnswerCall, PlainAnswer, RequestBody, ServedRequest } from "../model-server/answer.ts"
import { callsOfWork, doneText, endText, markOf, tasksOf, wordsOf } from "./plan.ts"

const tokenDelayMs = 3

interface Made {
  tool: string
  input: { prompt?: string }
  result: string
}

/**
 * The answers of the model, which depend on the request alone. A task whose call never began is given again; other
 * calls are not made a second time, whatever their result.
 */
export function taskAnswer({ body }: ServedRequest): PlainAnswer {
  const { prompt, made } = lastPrompt(body)
  const { word, name, rest } = wordsOf(prompt)
  const tasks = tasksOf(prompt)
  if (tasks.length > 0) return giveTasks(prompt, made)
  if (word === "work") return workOn(name, made.length)
  if (word === "perish") return { text: ["Farewell, ", "world."], calls: [{ tool: rest, input: { name } }] }
  return { text: `answer to ${prompt}` }
}

function giveTasks(prompt: string, made: readonly Made[]): PlainAnswer {
  const { word, name } = wordsOf(prompt)
  if (word === "lead" && made.length === 0) return { text: "First ", calls: [workCall(`${name}.x`, 0)] }
  const results = tasksOf(prompt).map((task) => {
    const began = made.filter(({ input, result }) => input.prompt === task.prompt && !isCutOff(result))
    return { task, began }
  })
  const missing = results.filter(({ began }) => began.length === 0)
  if (missing.length === 0) {
    const texts = results.map(({ began }) => began.map(({ result }) => firstLine(result)).join(" and "))
    return { text: deltas(endText(prompt, texts)), tokenDelayMs }
  }
  const calls = missing.map(({ task }) => ({
    tool: "task",
    input: { description: `Do ${task.prompt}`, prompt: task.prompt, subagent_type: task.agent },
  }))
  return { text: deltas(`Some others will do ${calls.length} of the things`), calls, tokenDelayMs }
}

function workOn(name: string, made: number): PlainAnswer {
  if (made >= callsOfWork) return { text: deltas(doneText(name)), tokenDelayMs }
  const size = Math.min(callsOfWork - made, 1 + ((made + name.length) % 3))
  const calls = Array.from({ length: size }, (_, index) => workCall(name, made + index))
  return { text: deltas(`Now call ${made} of it`), calls, tokenDelayMs, chunk: 200 }
}

/** The first and the third kind may be repeated, the second may not. */
function workCall(name: string, call: number): AnswerCall {
  switch (call % 3) {
    case 0:
      return { tool: "read", input: { filePath: `known-${call}.txt` } }
    case 1:
      return { tool: "bash", input: { command: `echo '${markOf(name, call)}' >> marks.txt` } }
    default:
      return { tool: "grep", input: { pattern: `line ${call} of`, path: "known-0.txt" } }
  }
}

function deltas(text: string): string[] {
  return text.split(/(?<= )/)
}

function isCutOff(result: string): boolean {
  return /^(Error: )?interrupted: /.test(result)
}

function firstLine(text: string): string {
  return text.split("\n")[0]!
}

/** The last prompt, and the calls that were made for it, with their results. */
function lastPrompt({ messages }: RequestBody): { prompt: string; made: Made[] } {
  const at = messages.findLastIndex(({ role, content }) => role === "user" && isPrompt(textOf(content)))
  const results = new Map(messages.map((message) => [message.tool_call_id, textOf(message.content)]))
  const made = messages.slice(at + 1).flatMap(({ tool_calls: calls }) =>
    ((calls ?? []) as { id: string; function: { name: string; arguments: string } }[]).map((call) => ({
      tool: call.function.name,
      input: JSON.parse(call.function.arguments) as Made["input"],
      result: results.get(call.id) ?? "",
    })),
  )
  return { prompt: textOf(messages[at]?.content), made }
}

function isPrompt(text: string): boolean {
  return /^(manage|direct|lead|work|risk|perish|say) /.test(text)
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content
  const parts = (Array.isArray(content) ? content : []) as { text?: string }[]
  return parts.map((part) => part.text ?? "").join("")
}
