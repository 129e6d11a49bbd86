import { idPattern, type PartBody } from "../../protocol/index.ts"
import type { Task } from "../../tools/tool.ts"
import type { Run } from "../loop/run.ts"
import type { Prompt } from "../step/step.ts"
import type { Call } from "../step/tools/tool-calls.ts"

type Subtask = Extract<PartBody, { type: "subtask" }>

/** A tool call that the message has from the start. */
export interface DirectCall {
  call: Call
  part: Extract<PartBody, { type: "tool" }>
}

/**
 * Turns the subtask parts of prompts into task calls of the message that answers the prompts. The calls are committed
 * together with that message, so a taken prompt always has its calls. After that they are like a model's calls.
 */
export function directCalls(run: Run, prompts: readonly Prompt[]): DirectCall[] {
  const subtasks = prompts.flatMap(({ parts }) => parts.filter((part) => part.type === "subtask"))
  return subtasks.map((subtask) => {
    const { description, prompt, agent, command } = subtask
    const input = { description, prompt, subagent_type: agent, ...(command !== undefined && { command }) }
    const id = callPartID(subtask, run.newID("part"))
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

/**
 * The id of the call's part names the subtask. Neither a caller nor a model can choose the part ids of an answer, so no other
 * part has such an id.
 */
function callPartID(subtask: Subtask, newID: string): string {
  const partID = `${newID}${subtaskMark(subtask)}`
  return idPattern("part").test(partID) ? partID : newID
}

function subtaskMark({ id }: Subtask): string {
  return `_of_${id.slice(id.search(/[_-]/) + 1)}`
}

/**
 * The options of the subtask part that became this call and that are not in the call's input. A model may choose any
 * call id, so a call whose task differs from the subtask gets no options.
 */
export function subtaskOptions(
  run: Run,
  { callID, partID, task }: { callID: string; partID: string; task: Task },
): Pick<Subtask, "model" | "fixed" | "references"> {
  if (!callID.startsWith("call_prt")) return {}
  for (const { message, parts } of run.memo.items.toReversed()) {
    if (message.role !== "user") continue
    const subtask = parts.find((part) => part.type === "subtask" && callIDOf(part) === callID)
    if (subtask?.type !== "subtask") continue
    const { model, fixed, references } = subtask
    if (subtask.agent.trim() !== task.agent || subtask.prompt.trim() !== task.prompt) return {}
    // Text spans are valid for this exact text only. Another call with the same task must ask for permission again.
    const isSame = subtask.prompt === task.prompt && partID.endsWith(subtaskMark(subtask))
    return {
      ...(model && { model }),
      ...(fixed && isSame && { fixed }),
      ...(references && { references }),
    }
  }
  return {}
}
