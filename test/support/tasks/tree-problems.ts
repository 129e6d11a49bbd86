import type { HistoryItem, PartOf, Session, Stemma } from "../../../src/index.ts"
import { historyProblems, toolParts } from "../run/history-problems.ts"
import { interruptionsOf, recoveriesMax } from "../run/left-behind.ts"
import type { Ran } from "../run/tools.ts"
import { callsOfWork, doneText, endText, type GivenTask, tasksOf, wordsOf } from "./plan.ts"
import { linesOf, type TaskScene, taskPaths } from "./scene.ts"

type Call = PartOf<"tool">

/** A prompt that was answered, and its session. */
export interface Asked {
  sessionID: string
  messageID: string
  prompt: string
}

/** How the task calls ended. */
export interface Results {
  completed: number
  /** The child was interrupted too often. */
  failed: number
  /** The call was interrupted before it began, and was made again. */
  unbegun: number
}

export interface TreeReport {
  problems: string[]
  results: Results
  /** Calls of agents that were interrupted while they ran. */
  cutOff: number
}

/** Finds problems in a session that gave tasks, and in the sessions below it, when nothing runs any more. */
export async function examineTree(stemma: Stemma, scene: TaskScene, asked: Asked): Promise<TreeReport> {
  const examination = new Examination(stemma, scene)
  await examination.answerOf(asked)
  examination.checkMarks(wordsOf(asked.prompt).name)
  const { problems, results, cutOff } = examination
  problems.push(...(await stemma.store.check()).problems)
  return { problems, results, cutOff }
}

class Examination {
  readonly problems: string[] = []
  readonly results: Results = { completed: 0, failed: 0, unbegun: 0 }
  cutOff = 0
  readonly #stemma: Stemma
  readonly #marks: string[]
  /** The marks of calls that are in a history. */
  readonly #called = new Set<string>()

  constructor(stemma: Stemma, scene: TaskScene) {
    this.#stemma = stemma
    this.#marks = linesOf(taskPaths(scene).marks)
  }

  /** The final answer to a prompt. Checks its session and everything below it. */
  async answerOf({ sessionID, messageID, prompt }: Asked): Promise<string> {
    const session = await this.#stemma.sessions.get(sessionID)
    const items = await session.messages()
    const info = await session.info()
    const say = (problem: string) => this.problems.push(`${prompt}: ${problem}`)
    historyProblems(items, { session: info, ran: this.#ran(items) }).forEach(say)
    const inbox = await this.#stemma.store.inbox(sessionID)
    for (const item of inbox) say(`${item.type} ${item.id} was left lying`)
    const prompts = items.filter(({ message }) => message.role === "user")
    const ids = prompts.map(({ message }) => message.id)
    if (ids.join() !== messageID) say(`its prompts are ${ids}, not ${messageID}`)
    if (prompts[0] && textIn(prompts[0]) !== prompt) say(`it was asked ${textIn(prompts[0])}`)

    const results = await this.#examineTasks({ info, items, prompt, say })
    const own = toolParts(items).filter(({ tool }) => tool !== "task")
    this.cutOff += own.filter(({ state }) => state.status === "error").length
    const { word, name } = wordsOf(prompt)
    if (word === "perish") return ""
    const text = items.at(-1) ? textIn(items.at(-1)!) : ""
    if (isCutOff(items, messageID)) return text
    if (word === "work" && own.length !== callsOfWork) say(`it made ${own.length} calls`)
    const expected = word === "work" ? doneText(name) : endText(prompt, results)
    if (text !== expected) say(`it ended with ${JSON.stringify(text)} instead of ${JSON.stringify(expected)}`)
    return text
  }

  /** There is one child for each task and one task for each child. Returns the result of each task, in order. */
  async #examineTasks({ info, items, prompt, say }: Level): Promise<string[]> {
    const tasks = tasksOf(prompt)
    const calls = toolParts(items).filter(({ tool }) => tool === "task")
    const children = (await this.#stemma.sessions.children(info.id)).items
    if (children.length > tasks.length) say(`it has ${children.length} children`)
    for (const { id } of children) {
      const by = calls.filter((call) => childOf(call) === id)
      if (by.length !== 1) say(`child ${id} is named by ${by.length} calls`)
    }
    for (const call of calls) {
      if (childOf(call) !== undefined) continue
      this.results.unbegun++
      const { error } = call.state as { error?: string }
      if (!error?.startsWith("interrupted: ")) say(`${call.callID} has no child: ${error}`)
    }
    const results: string[] = []
    for (const task of tasks) results.push(await this.#examineTask(task, { calls, children, say }))
    return results
  }

  async #examineTask(
    task: GivenTask,
    level: Pick<Level, "say"> & { calls: Call[]; children: readonly Session[] },
  ) {
    const { calls, say } = level
    const by = calls.filter(
      ({ state }) => state.input.prompt === task.prompt && childOf({ state }) !== undefined,
    )
    const call = by[0]
    if (by.length !== 1 || !call) {
      say(`${task.prompt} was begun ${by.length} times`)
      return ""
    }
    const childID = childOf(call)!
    const child = level.children.find(({ id }) => id === childID)
    if (!child) {
      say(`child ${childID} of ${task.prompt} is lost`)
      return ""
    }
    if (child.title !== `Do ${task.prompt} (@${task.agent} subagent)`)
      say(`${childID} is called ${child.title}`)
    const messageID = `msg_${call.id.slice(4)}`
    const text = await this.answerOf({ sessionID: childID, messageID, prompt: task.prompt })
    const items = await (await this.#stemma.sessions.get(childID)).messages()
    return this.#resultOf(call, { text, wasCutOff: isCutOff(items, messageID), say })
  }

  #resultOf({ callID, state }: Call, child: { text: string; wasCutOff: boolean; say: Level["say"] }): string {
    if (state.status === "completed") {
      this.results.completed++
      if (child.wasCutOff) child.say(`${callID} has a result of a child that gave none`)
      if (state.output.split("\n")[0] !== child.text) child.say(`${callID} has the result ${state.output}`)
      return child.text
    }
    this.results.failed++
    const error = state.status === "error" ? state.error : ""
    const isHonest = child.wasCutOff && error.startsWith("The agent was interrupted too often: ")
    if (!isHonest) child.say(`${callID} of a child that ended with ${child.text} failed: ${error}`)
    return error.split("\n")[0]!
  }

  /** Every mark belongs to a call in a history. */
  checkMarks(name: string): void {
    const left = this.#marks.filter((mark) => mark.startsWith(`${name}.`) && !this.#called.has(mark))
    if (left.length > 0) this.problems.push(`no call in a history left ${left.join(", ")}`)
  }

  /** Which calls ran, and how often: bash calls by their marks, others by their state. */
  #ran(items: readonly HistoryItem[]): Ran[] {
    return toolParts(items).flatMap(({ tool, callID, state }): Ran[] => {
      const ran = { tool, callID, pid: 0 }
      if (tool !== "bash") return state.status === "completed" ? [ran] : []
      const mark = /'(.*)'/.exec(String(state.input.command))?.[1] ?? ""
      this.#called.add(mark)
      return this.#marks.filter((line) => line === mark).map(() => ran)
    })
  }
}

interface Level {
  info: Session
  items: readonly HistoryItem[]
  prompt: string
  say: (problem: string) => void
}

/** The child session of a task call. */
export function childOf({ state }: Pick<Call, "state">): string | undefined {
  const id = "metadata" in state ? state.metadata?.sessionId : undefined
  return typeof id === "string" ? id : undefined
}

/**
 * The answer was interrupted so often that no process continues it. The last interruption may have left no mark,
 * because no message was open then.
 */
function isCutOff(items: readonly HistoryItem[], promptID: string): boolean {
  const last = items.at(-1)?.message
  const isEnd = last?.role === "assistant" && last.finish === "interrupted"
  return isEnd && interruptionsOf(items, promptID) >= recoveriesMax
}

function textIn({ parts }: HistoryItem): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")
}
