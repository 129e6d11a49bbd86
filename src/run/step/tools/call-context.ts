import { maskDeep } from "../../../config/secrets/environment.ts"
import { type PartBody, parseOrInvalid, Todo } from "../../../protocol/index.ts"
import { cleanDeep } from "../../../session/index.ts"
import type { ToolContext, Wanted, WantsContext } from "../../../tools/tool.ts"
import { shownOptions } from "../../context/make-room.ts"
import { delegate } from "../../tasks/delegate.ts"
import { subtaskOptions } from "../../tasks/direct-tasks.ts"
import { plainData } from "../plain-data.ts"
import type { Step } from "../step-plan.ts"
import { sessionHistory, shownPositions } from "./session-history.ts"
import type { Execution } from "./tool-calls.ts"

const progressEveryMs = 100
/** The most printed output, in characters, that is streamed while a call runs. The result holds the rest. */
const printedUnitsMax = 256 * 1024

/**
 * The context that a tool gets to run one call. After `end` its functions write nothing: a call that is settled or
 * abandoned must not change the history.
 */
export function callContext(
  step: Step,
  execution: Execution & { shared: WantsContext; ask: (wanted: Wanted) => Promise<void> },
): { context: ToolContext; end: () => void; running: () => PartBody } {
  const { run, openMessage } = step
  const { call, input, progress, startedAt, shared } = execution
  const { store } = run.engine
  const running = (): PartBody => ({
    ...openMessage.tool(call.partID),
    state: { status: "running", input, ...progress, time: { start: startedAt } },
  })
  const show = throttle(() => openMessage.putGrowing(running()), progressEveryMs)
  const mask = step.setup.maskStream()
  let printed = 0
  let isOver = false
  const assertOpen = () => {
    if (isOver) throw new Error("The tool call has ended. Its context cannot be used any more.")
  }
  const context: ToolContext = {
    ...shared,
    messageID: openMessage.message.id,
    callID: call.callID,
    async ask(wanted) {
      assertOpen()
      await execution.ask(wanted)
    },
    progress(update) {
      if (isOver) return
      if (update.title !== undefined) progress.title = displayable(step, String(update.title))
      if (update.metadata) progress.metadata = { ...progress.metadata, ...displayable(step, update.metadata) }
      show.call()
    },
    print(text) {
      if (isOver || printed >= printedUnitsMax) return
      printed += text.length
      openMessage.grow(call.partID, "output", mask(text))
    },
    environment: step.setup.environment,
    todos: {
      read: () => store.todos(run.sessionID),
      async write(todos) {
        assertOpen()
        const checked = todos.map((todo) => parseOrInvalid(Todo, todo, "A todo"))
        await run.writer.commit([{ op: "todos.put", sessionID: run.sessionID, todos: checked }])
      },
    },
    blobs: { put: (bytes) => store.blobs.put(bytes), get: (hash) => store.blobs.get(hash) },
    history: sessionHistory({
      store,
      sessionID: run.sessionID,
      signal: run.signal,
      mask: step.setup.mask,
      shown: () => shownPositions(run.memo, shownOptions(run, step.setup)),
    }),
    async delegate(task) {
      assertOpen()
      const direct = subtaskOptions(run, { callID: call.callID, partID: call.partID, task })
      return delegate(step, {
        task,
        partID: call.partID,
        metadata: progress.metadata,
        ...direct,
        async announce(metadata, ops) {
          progress.title = displayable(step, task.description)
          progress.metadata = { ...progress.metadata, ...metadata }
          await run.writer.commit([...ops, ...openMessage.flushOps(), openMessage.putOp(running())])
        },
        report: (metadata) => context.progress({ title: task.description, metadata }),
      })
    },
  }
  const end = () => {
    isOver = true
    show.stop()
  }
  return { context, end, running }
}

/** A title or metadata of a tool as it may be stored and shown: JSON, without control characters and secrets. */
export function displayable<T>(step: Step, value: T): T {
  return cleanDeep(maskDeep(plainData(value, "The title or metadata of the tool"), step.setup.mask))
}

function throttle(work: () => void, everyMs: number): { call(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined
  let last = Number.NEGATIVE_INFINITY
  const run = () => {
    // A timer that is due but has not fired yet would do the work a second time, even after `stop`.
    clearTimeout(timer)
    timer = undefined
    last = performance.now()
    work()
  }
  return {
    call() {
      const wait = last + everyMs - performance.now()
      if (wait <= 0) run()
      else timer ??= setTimeout(run, wait)
    },
    stop() {
      clearTimeout(timer)
    },
  }
}
