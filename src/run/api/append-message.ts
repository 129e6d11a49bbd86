import {
  type AssistantBody,
  type HistoryItem,
  isSettled,
  type JsonObject,
  type MessageBody,
  noTokens,
  PartBody,
  parseOrInvalid,
  StemmaError,
} from "../../protocol/index.ts"
import type { Op } from "../../stores/commit.ts"
import { revertOps } from "../loop/revert.ts"
import type { Run } from "../loop/run.ts"
import { defaultAgent } from "../permission/permission-check.ts"
import { modelRef } from "../prompt/prompt.ts"
import { checkBlobs } from "../prompt/prompt-files.ts"

/** A part as a caller gives it. A missing id is filled in. */
export type AppendPart = PartBody extends infer T
  ? T extends { id: string }
    ? Omit<T, "id"> & { id?: string }
    : never
  : never

/** A message to add to a history without calling a model. */
export type AppendInput =
  | { role: "user" | "assistant"; text: string; id?: string; synthetic?: boolean }
  | { role: "user" | "assistant"; parts: readonly AppendPart[]; id?: string }
  /** A tool call and its result, for a tool that ran outside Stemma. */
  | {
      role: "tool"
      tool: string
      callID?: string
      input?: JsonObject
      output?: string
      error?: string
      title?: string
      id?: string
    }

export async function appendMessage(run: Run, input: AppendInput): Promise<HistoryItem> {
  const { engine, sessionID } = run
  const parts = partsOf(run, input).map((part) => parseOrInvalid(PartBody, part, "A part"))
  const open = parts.find((part) => part.type === "tool" && !isSettled(part.state))
  if (open)
    throw new StemmaError(
      "invalid",
      "An appended tool call must have its result: the state `completed` or `error`.",
    )
  await checkBlobs(parts, engine.store)
  if (input.id !== undefined) await refuseWaiting(run, input.id)
  const message = await messageOf(run, input)
  const ops: Op[] = await revertOps(run)
  ops.push(
    { op: "message.append", sessionID, message, parts, sealed: true },
    {
      op: "session.patch",
      sessionID,
      set: { time: { updated: Math.max(engine.clock.now(), run.session.time.updated) } },
    },
  )
  await run.writer.commit(ops)
  run.session = await engine.store.session(sessionID)
  await run.memo.refresh(engine.store, run.session)
  return run.memo.last!
}

/** Refuses the id of a prompt in the inbox: with a message of that id in the history, the prompt could never be taken. */
export async function refuseWaiting({ engine, sessionID }: Run, id: string): Promise<void> {
  const isWaiting = (await engine.store.inbox(sessionID)).some((item) => item.id === id)
  if (!isWaiting) return
  throw new StemmaError(
    "conflict",
    `A prompt with the id ${id} is waiting in the inbox. Append the message with another id.`,
  )
}

function partsOf(run: Run, input: AppendInput): unknown[] {
  const { newID } = run
  const { clock } = run.engine
  if (input.role === "tool") {
    const now = clock.now()
    const time = { start: now, end: now }
    const { tool, error, output = "" } = input
    const call = { id: newID("part"), type: "tool", tool, callID: input.callID ?? newID("part") }
    const state =
      error !== undefined
        ? { status: "error", input: input.input ?? {}, error, time }
        : {
            status: "completed",
            input: input.input ?? {},
            output,
            title: input.title ?? tool,
            metadata: {},
            time,
          }
    return [{ ...call, state }]
  }
  if (!("text" in input)) return input.parts.map((part) => ({ ...part, id: part.id ?? newID("part") }))
  return [{ id: newID("part"), type: "text", text: input.text, ...(input.synthetic && { synthetic: true }) }]
}

async function messageOf(run: Run, input: AppendInput): Promise<MessageBody> {
  const { engine, session } = run
  const setup = await run.setup()
  const id = input.id ?? run.newID("message")
  const now = engine.clock.now()
  const agent = session.agent ?? defaultAgent(setup)
  const model = session.model ?? modelRef(setup.loaded.config.model ?? (await setup.models.standard()))
  if (input.role === "user") return { id, role: "user", time: { created: now }, agent, model }
  const parentID = promptIDBefore(run)
  if (parentID === undefined) {
    throw new StemmaError(
      "invalid",
      "An assistant message needs a user message before it. Append a user message first.",
    )
  }
  const answer: AssistantBody = {
    id,
    role: "assistant",
    time: { created: now, completed: now },
    parentID,
    ...model,
    agent,
    path: { cwd: run.project.workspace.directory, root: run.project.workspace.root },
    cost: 0,
    tokens: noTokens(),
    finish: "stop",
  }
  return answer
}

/** The id of the last prompt. A compaction may hide the prompt itself; its answer still names it. */
function promptIDBefore(run: Run): string | undefined {
  const { items } = run.memo
  const prompt = items.findLast(({ message }) => message.role === "user")
  if (prompt) return prompt.message.id
  const answer = items.findLast(({ message }) => message.role === "assistant")?.message
  return answer?.role === "assistant" ? answer.parentID : undefined
}
