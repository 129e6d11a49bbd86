import { idPattern, type PartBody } from "../../protocol/index.ts"
import type { Task } from "../../tools/tool.ts"
import type { Run } from "../loop/run.ts"
import type { Prompt } from "../step/step.ts"
import type { Call } from "../step/tools/tool-calls.ts"

type Subtask = Extract<PartBody, { type: "subtask" }>

/** A call that stands in its message from the beginning. */
export interface DirectCall {
  call: Call
  part: Extract<PartBody, { type: "tool" }>
}

/**
 * The tasks that prompts give directly, without asking a model first, as calls of the message that answers them. They are
 * written together with it: a prompt that is taken has its calls, and from there on they are like a model's.
 */
export function directCalls(run: Run, prompts: readonly Prompt[]): DirectCall[] {
  const subtasks = prompts.flatMap(({ parts }) => parts.filter((part) => part.type === "subtask"))
  return subtasks.map((subtask) => {
    const { description, prompt, agent, command } = subtask
    const input = { description, prompt, subagent_type: agent, ...(command !== undefined && { command }) }
    const id = callPartID(subtask) ?? run.engine.newID("part")
    const text = JSON.stringify(input)
    const callID = callIDOf(subtask)
    return {
      call: { partID: id, callID, tool: "task", text },
      part: { id, type: "tool", callID, tool: "task", state: { status: "pending", input: {}, raw: text } },
    }
  })
}

function callIDOf({ id }: Subtask): string {
  return `call_${id}`
}

/** Nobody else can have it: neither a caller nor a model chooses the ids of the parts of an answer. */
function callPartID({ id }: Subtask): string | undefined {
  const own = `${id}_task`
  return idPattern("part").test(own) ? own : undefined
}

/**
 * What a prompt said of the task that became a call, beside the call's input. A model may give its call any id: what is not
 * the very same task gets nothing.
 */
export function subtaskOf(
  run: Run,
  { callID, partID, task }: { callID: string; partID: string; task: Task },
): Pick<Subtask, "model" | "fixed" | "references"> {
  if (!callID.startsWith("call_prt")) return {}
  for (const { message, parts } of run.memo.items.toReversed()) {
    if (message.role !== "user") continue
    const found = parts.find((part) => part.type === "subtask" && callIDOf(part) === callID)
    if (found?.type !== "subtask") continue
    const { model, fixed, references } = found
    if (found.agent.trim() !== task.agent || found.prompt.trim() !== task.prompt) return {}
    // Places in a text hold for that text only, and what was asked for once is not done again unasked.
    const isSame = found.prompt === task.prompt && partID === callPartID(found)
    return {
      ...(model && { model }),
      ...(fixed && isSame && { fixed }),
      ...(references && { references }),
    }
  }
  return {}
}
