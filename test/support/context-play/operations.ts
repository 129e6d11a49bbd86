import { expect } from "vitest"
import { type HistoryItem, type Reply, StemmaError } from "../../../src/index.ts"
import type { PlayedAnswer } from "../../../src/models/play-answer.ts"
import { estimateTokens } from "../../../src/session/index.ts"
import type { Draw } from "../draw.ts"
import { filler, marksIn, marksOfItems } from "./marks.ts"
import { type Answering, overheadTokens } from "./model.ts"
import type { Operation, Play } from "./play.ts"

type Do = (play: Play, draw: Draw) => Promise<void>

const image = {
  type: "file" as const,
  mime: "image/png",
  url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  filename: "dot.png",
}
const imageTokens = 1_300

/** A text with a mark at its beginning and one at its end. Most are short, some as long as the window. */
function drawText(play: Play, draw: Draw, operation: Operation): { text: string; mark: string } {
  const { context } = play.model.limit
  const tokens = draw.one([5, 20, 200, Math.floor(context / 8), Math.floor(context / (1 + draw.below(6)))])
  const mark = play.marks.plant()
  const end = play.marks.plant()
  operation.must.add(mark).add(end)
  return { text: `${mark} ${filler(Math.min(tokens, 12_000))}${end}`, mark }
}

function planted(play: Play, marks: Set<string>): string {
  const mark = play.marks.plant()
  marks.add(mark)
  return mark
}

/** A step that calls tools: with output of any length, with errors, one or two calls at the same time. */
function drawCalls(play: Play, draw: Draw, marks: Set<string>): PlayedAnswer {
  const call = () => {
    switch (draw.below(6)) {
      case 0:
        return { tool: "read", input: { filePath: `missing-${planted(play, marks)}.txt` } }
      case 1: {
        const todo = { content: planted(play, marks), status: "pending", priority: "low" }
        return { tool: "todowrite", input: { todos: [{ id: "1", ...todo }] } }
      }
      case 2:
        return { tool: "nothing", input: { why: planted(play, marks) } }
      case 3:
        return { tool: "read", input: `{"filePath": "${planted(play, marks)}` }
      default: {
        const limit = draw.one([2, 20, 200, 600])
        return { tool: "read", input: { filePath: "big.txt", offset: play.line++, limit } }
      }
    }
  }
  return {
    ...(draw.chance(50) && { text: `I say ${planted(play, marks)}.` }),
    ...(draw.chance(40) && { reasoning: `I think ${planted(play, marks)}. ${filler(draw.below(600))}` }),
    calls: draw.chance(30) ? [call(), call()] : [call()],
  }
}

/** The answer that ends a successful turn. */
function drawEnd(play: Play, draw: Draw, operation: Operation): Answering {
  const text = `Answered ${planted(play, operation.must)}. ${filler(draw.below(300))}`
  return () => ({ text, ...(draw.chance(10) && { reasoning: filler(200) }) })
}

function planSteps(play: Play, draw: Draw, operation: Operation): void {
  for (let left = draw.below(5); left > 0; left--) {
    const answer = drawCalls(play, draw, operation.must)
    play.model.planned.push(() => answer)
    if (draw.chance(10)) play.model.planned.push(failing(play, draw, operation, "server"))
    if (draw.chance(10)) play.model.planned.push(failing(play, draw, operation, "context"))
  }
}

function failing(
  play: Play,
  draw: Draw,
  operation: Operation,
  kind: "server" | "context" | "refused",
): Answering {
  const answer = drawCalls(play, draw, operation.may)
  if (kind === "context") operation.isRefused = true
  return () => ({ ...answer, error: { kind, afterDeltas: draw.below(6) } })
}

function summarised(draw: Draw): Answering {
  switch (draw.below(8)) {
    case 0:
      return () => ({ error: { kind: "refused" } })
    case 1:
      return () => ({ text: " " })
    case 2:
      return () => ({ text: filler(3_000) })
    default:
      // The summary repeats every mark that it was shown.
      return ({ messages }) => ({ text: `It was about ${[...marksIn(messages)].join(" ")}.` })
  }
}

function checkReply(play: Play, operation: Operation, reply: Reply): void {
  if (!reply.error) return
  expect(reply.error.name).toBe("ContextOverflowError")
  const { request, limit } = play.model.seen.findLast(({ request }) => request.purpose === "step")!
  const overhead = overheadTokens(request)
  const isWrong = play.mustFit(operation, { overhead, limit }) && !operation.isRefused
  expect(isWrong, `There was room for it, but: ${reply.error.data.message}`).toBe(false)
}

const prompt: Do = async (play, draw) => {
  await play.operate(async (operation) => {
    const { text, mark } = drawText(play, draw, operation)
    const withImage = draw.chance(20)
    operation.promptMarks = [mark]
    operation.promptTokens = estimateTokens(text) + (withImage ? imageTokens : 0)
    noteFirst(play, operation.promptTokens)
    planSteps(play, draw, operation)
    play.model.planned.push(drawEnd(play, draw, operation))
    play.model.summary = summarised(draw)
    const session = await play.session()
    const reply = await session.prompt(withImage ? [{ type: "text", text }, image] : text)
    if (reply.error) operation.may = operation.may.union(operation.must)
    if (reply.error) operation.must = marksIn(text)
    settleRevert(play)
    checkReply(play, operation, reply)
  })
}

/** A prompt that arrives while another is being answered. */
const steer: Do = async (play, draw) => {
  await play.operate(async (operation) => {
    const first = drawText(play, draw, operation)
    const second = drawText(play, draw, operation)
    operation.promptMarks = [first.mark, second.mark]
    operation.promptTokens = estimateTokens(first.text) + estimateTokens(second.text)
    noteFirst(play, estimateTokens(first.text))
    const session = await play.session()
    const answer = drawCalls(play, draw, operation.may)
    let steering: PromiseLike<Reply> | undefined
    play.model.planned.push(async () => {
      const run = session.prompt(second.text)
      steering = run
      await run.admitted
      return answer
    })
    play.model.summary = summarised(draw)
    const reply = await session.prompt(first.text)
    settleRevert(play)
    checkReply(play, operation, reply)
    if (steering) checkReply(play, operation, await steering)
    else for (const mark of marksIn(second.text)) operation.must.delete(mark)
  })
}

/** An answer that is interrupted: by a person, by the provider, or because the process closes. */
const cutOff: Do = async (play, draw) => {
  await play.operate(async (operation) => {
    const { text, mark } = drawText(play, draw, operation)
    operation.promptMarks = [mark]
    operation.promptTokens = estimateTokens(text)
    noteFirst(play, operation.promptTokens)
    play.model.summary = summarised(draw)
    const session = await play.session()
    const answer = drawCalls(play, draw, operation.may)
    const how = draw.one(["abort", "refused", "close"] as const)
    const begun = Promise.withResolvers<void>()
    if (how === "refused") play.model.planned.push(failing(play, draw, operation, "refused"))
    else {
      play.model.planned.push(() => {
        begun.resolve()
        return { ...answer, deltaDelayMs: 60_000 }
      })
    }
    const run = session.prompt(text)
    await Promise.race([begun.promise, run])
    if (how === "abort") await session.abort()
    if (how === "close") {
      await Promise.all([Promise.resolve(run).catch(() => {}), play.reopen(draw)])
    } else {
      const reply = await run
      expect(reply.error).toBeDefined()
    }
    settleRevert(play)
  })
}

const append: Do = async (play, draw) => {
  await play.operate(async (operation) => {
    play.model.summary = summarised(draw)
    const session = await play.session()
    const { text } = drawText(play, draw, operation)
    const hasPrompt = (await session.messages()).some(({ message }) => message.role === "user")
    const kind = hasPrompt ? draw.below(4) : 0
    if (kind === 0) {
      noteFirst(play, estimateTokens(text) + imageTokens)
      await session.append({ role: "user", parts: [{ type: "text", text }, image] })
    } else if (kind === 1) {
      const time = { start: 1, end: 2 }
      await session.append({
        role: "assistant",
        parts: [
          { type: "reasoning", text: planted(play, operation.must), time },
          { type: "text", text },
        ],
      })
    } else if (kind === 2) await session.append({ role: "tool", tool: "read", callID: "same", output: text })
    else await session.append({ role: "tool", tool: "read", callID: "same", error: text })
    settleRevert(play)
  })
}

/** Tool output that is old and long enough to be pruned. */
const longOutput: Do = async (play, draw) => {
  await play.operate(async (operation) => {
    const session = await play.session()
    const { context } = play.model.limit
    for (let turn = 0; turn < 8; turn++) {
      const ask = planted(play, operation.must)
      noteFirst(play, estimateTokens(ask))
      await session.append({ role: "user", text: ask })
      const output = `${planted(play, operation.must)} ${filler(context / 12 + draw.below(context / 8))}`
      await session.append({ role: "tool", tool: "read", output })
      await session.append({ role: "assistant", text: planted(play, operation.must) })
    }
    settleRevert(play)
  })
}

const compact: Do = async (play, draw) => {
  await play.operate(async () => {
    play.model.summary = summarised(draw)
    const session = await play.session()
    const wish = draw.chance(50) ? "Mind the numbers." : undefined
    try {
      const done = await session.compact(wish)
      expect(done.tokensAfter).toBeLessThan(done.tokensBefore)
    } catch (error) {
      expect(StemmaError.is(error, "invalid") || StemmaError.is(error, "unavailable"), String(error)).toBe(
        true,
      )
    }
    settleRevert(play)
  })
}

const fork: Do = async (play, draw) => {
  const source = await play.session()
  const items = await source.messages()
  if (items.length === 0) return
  const at = draw.below(items.length + 1)
  const messageID = items[at]?.message.id
  const handle = await play.stemma.sessions.fork(source.id, messageID === undefined ? {} : { messageID })
  const visible = marksOfItems(items.slice(0, at))
  const { firstTokens } = play.current
  const forked = { id: handle.id, visible, firstTokens: at === 0 ? 0 : firstTokens }
  play.sessions.push(forked)
  if (draw.chance(70)) play.current = forked
  await play.operate(async () => {})
}

const revert: Do = async (play, draw) => {
  await play.operate(async () => {
    const { current } = play
    const items = await (await play.session()).messages()
    if (items.length === 0) return
    const at = draw.below(items.length)
    const item = items[at]!
    const part = draw.chance(50) ? item.parts[draw.below(Math.max(1, item.parts.length))] : undefined
    const mark = { messageID: item.message.id, ...(part && { partID: part.id }) }
    await play.stemma.sessions.revert(current.id, mark)
    current.beforeRevert ??= current.visible
    const cut: HistoryItem = { ...item, parts: part ? item.parts.slice(0, item.parts.indexOf(part)) : [] }
    current.visible = marksOfItems([...items.slice(0, at), cut])
  })
}

const unrevert: Do = async (play) => {
  await play.operate(async () => {
    const { current } = play
    await play.stemma.sessions.unrevert(current.id)
    current.visible = current.beforeRevert ?? current.visible
    delete current.beforeRevert
  })
}

const setMaxHistory: Do = async (play, draw) => {
  await play.operate(async () => {
    const maxHistory = draw.one([null, 1, 2, 3, 5, 8, 20])
    await play.stemma.sessions.update(play.current.id, { maxHistory })
  })
}

const reopen: Do = async (play, draw) => {
  await play.operate(async () => play.reopen(draw))
}

const change: Do = async (play, draw) => {
  play.current = draw.one(play.sessions)
  await play.operate(async () => {})
}

/** The pending revert can no longer be undone. */
function settleRevert(play: Play): void {
  delete play.current.beforeRevert
}

function noteFirst({ current }: Play, tokens: number): void {
  if (current.visible.size === 0) current.firstTokens = tokens
}

export const operations: Record<string, { weight: number; run: Do }> = {
  prompt: { weight: 10, run: prompt },
  steer: { weight: 2, run: steer },
  cutOff: { weight: 2, run: cutOff },
  append: { weight: 3, run: append },
  longOutput: { weight: 2, run: longOutput },
  compact: { weight: 2, run: compact },
  fork: { weight: 2, run: fork },
  revert: { weight: 3, run: revert },
  unrevert: { weight: 1, run: unrevert },
  setMaxHistory: { weight: 1, run: setMaxHistory },
  reopen: { weight: 1, run: reopen },
  change: { weight: 1, run: change },
}

/** After any operations, the next prompt is answered. */
export async function promptAll(play: Play): Promise<void> {
  for (const played of play.sessions) {
    play.current = played
    await play.operate(async (operation) => {
      const mark = planted(play, operation.must)
      operation.promptMarks = [mark]
      operation.promptTokens = 10
      noteFirst(play, 10)
      const reply = await (await play.session()).prompt(`${mark} still there?`)
      settleRevert(play)
      checkReply(play, operation, reply)
    })
  }
}
