import type { Model, ModelRequest } from "../model.ts"
import { type PlayedAnswer, playAnswer } from "../play-answer.ts"
import { digestOf, fenced, firstSentence, isRefusal } from "./digest.ts"
import { chinesePhrases, englishPhrases, type Phrases } from "./phrases.ts"
import { nextCalls } from "./plan.ts"
import { sideAnswer } from "./side-answer.ts"
import { type MadeCall, turnOf } from "./turn.ts"
import { estimateUsage } from "./usage.ts"
import { isChinese, wishesIn } from "./wishes.ts"

export interface DemoOptions {
  /** Delay between two words; 0 if absent. */
  wordDelayMs?: number
}

/**
 * A guide for new users: rules instead of an AI model, without a key or network access. It recognises some requests in
 * English and Chinese, calls real tools for them, and says that it is not an AI model.
 */
export function createDemoModel(modelID = "guide", { wordDelayMs = 0 }: DemoOptions = {}): Model {
  return {
    ref: { providerID: "demo", modelID },
    limit: { context: 128_000, output: 8_192 },
    price: { input: 0, output: 0 },
    stream(request) {
      const answer = request.purpose === "step" ? answerTo(request) : { text: sideAnswer(request) }
      const usage = estimateUsage(request, answer)
      return playAnswer({ ...answer, usage, deltaDelayMs: wordDelayMs }, request)
    },
  }
}

function answerTo({ messages, tools, toolChoice }: ModelRequest): PlayedAnswer {
  const turn = turnOf(messages)
  const phrases = isChinese(turn.text) ? chinesePhrases : englishPhrases
  const { wishes, unheard } = wishesIn(turn.text, { todos: turn.todos })
  const names = new Set(toolChoice === "none" ? [] : tools.map((tool) => tool.name))
  const plan = nextCalls(wishes, { made: turn.made, tools: names })
  const said = turn.news.map((made) => report(made, phrases))
  if (plan.calls.length > 0) {
    said.push(plan.calls.map((call) => phrases.announce(call)).join(" "))
    return { text: said.join("\n\n"), calls: plan.calls }
  }
  said.push(...plan.skipped.map((call) => phrases.skipped(call)))
  said.push(...plan.unavailable.map((call) => phrases.unavailable(call)))
  if (wishes.length > 0 && unheard.length > 0) said.push(phrases.unheard(unheard.slice(0, 3).map(shortened)))
  return { text: said.join("\n\n") || phrases.help }
}

function report({ call, result }: MadeCall, phrases: Phrases): string {
  if (result === undefined || result.isError) {
    const reason = firstSentence(result?.output ?? "")
    return result && isRefusal(result) ? phrases.refused(call, reason) : phrases.failed(call, reason)
  }
  const digest = digestOf(call, result.output)
  const sentence = phrases.report(call, digest)
  if (!/[:：]$/.test(sentence)) return sentence
  const dots = digest.total > digest.first.length ? ["..."] : []
  return `${sentence}\n\n${fenced([...digest.first, ...dots])}`
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ")
  return line.length > 80 ? `${line.slice(0, 80).toWellFormed()}...` : line
}
