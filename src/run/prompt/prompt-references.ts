import type { Agent } from "../../config/agents/agent.ts"
import { type PartBody, StemmaError } from "../../protocol/index.ts"
import { type Reference, referencesIn } from "../../session/index.ts"
import type { Wanted } from "../../tools/tool.ts"
import type { Run } from "../loop/run.ts"
import { PermissionRefused } from "../permission/approvals.ts"
import { loadPermissionCheck, type PermissionCheck } from "../permission/permission-check.ts"
import type { Setup } from "../project.ts"
import { errorText } from "../step/error-text.ts"
import type { Prompt } from "../step/step.ts"
import { findAgent, listGrants } from "../step/step-plan.ts"
import { isSubagent } from "../tasks/task-agents.ts"
import { commandOutput } from "./reference-command.ts"
import { referencedFile } from "./reference-file.ts"

export interface Wish {
  wanted: Wanted
  tool: string
  /** The reference leads to another path than the one it names, such as through a symlink. */
  isElsewhere?: boolean
}

/** The context in which one reference is resolved. */
export interface Resolving {
  run: Run
  setup: Setup
  agent: Agent
  prompt: Prompt
  judge: () => Promise<PermissionCheck>
  /** Resolves if the request is permitted; otherwise throws PermissionRefused. */
  ask: (wish: Wish) => Promise<void>
}

/**
 * Resolves the references of prompts: files, agents and command output become parts of their own after the text, which stays
 * as it was typed. A reference that fails becomes a note to the model and does not fail the prompt.
 */
export async function withReferences(run: Run, prompts: readonly Prompt[]): Promise<Prompt[]> {
  return Promise.all(prompts.map(async (prompt) => (prompt.references ? resolved(run, prompt) : prompt)))
}

async function resolved(run: Run, prompt: Prompt): Promise<Prompt> {
  // An abort that was admitted right after the prompt is meant for the prompt.
  run.handleInbox().catch(() => {})
  // Permission questions and commands may take long, so other sessions may start meanwhile.
  run.notifyWaiting()
  try {
    const setup = await run.setup()
    const agent = findAgent(setup, prompt.message.agent)
    const parts: PartBody[] = [...prompt.parts]
    for (const { reference, isFixed } of differentReferences(prompt)) {
      if (run.signal.aborted) break
      const resolving = resolvingOf(run, { setup, agent, prompt, isFixed })
      parts.push(...(await partsOf(reference, resolving)))
    }
    return { ...prompt, parts }
  } catch (error) {
    if (run.writer.signal.aborted) throw error
    // The step that follows reports what is wrong with the prompt.
    return prompt
  }
}

interface FoundReference {
  reference: Reference
  /** The reference is in a command template that the user trusts. */
  isFixed: boolean
}

/** Each reference once. A reference that both a trusted template and its arguments have counts as the template's. */
function differentReferences({ parts, references }: Prompt): FoundReference[] {
  const all = references!.parts.flatMap(({ partID, fixed = [] }) => {
    const part = parts.find(({ id }) => id === partID)
    if (part?.type !== "text") return []
    return referencesIn(part.text).map((reference) => {
      const { start, end } = reference
      return { reference, isFixed: fixed.some((span) => span.start === start && span.end === end) }
    })
  })
  const byText = new Map<string, FoundReference>()
  for (const found of all) {
    const known = byText.get(found.reference.text)
    if (!known || (found.isFixed && !known.isFixed)) byText.set(found.reference.text, found)
  }
  return [...byText.values()]
}

function resolvingOf(
  run: Run,
  options: { setup: Setup; agent: Agent; prompt: Prompt; isFixed: boolean },
): Resolving {
  const { setup, agent, prompt, isFixed } = options
  const { store, projects } = run.engine
  const judge = async () =>
    loadPermissionCheck({
      store,
      projects,
      setup,
      session: await store.session(run.sessionID),
      agent,
      tools: prompt.message.tools,
      grants: await listGrants(run),
    })
  const permitted = new Set<string>()
  return {
    run,
    setup,
    agent,
    prompt,
    judge,
    async ask({ wanted, tool, isElsewhere = false }) {
      // Several possible meanings of one reference can lead to the same permission request.
      const asked = JSON.stringify([tool, wanted.permission, wanted.patterns])
      if (permitted.has(asked)) return
      // A trusted template counts as the user's own request, so an `ask` is allowed; a `deny` stays a deny.
      if (isFixed && !isElsewhere && (await judge()).decide(wanted, tool).action !== "deny") return
      const where = { name: tool, messageID: prompt.id, callID: "reference" }
      const isUnattended = prompt.message.unattended
      await run.approvals.ask({ wanted, judge, tool: where, signal: run.signal, isUnattended })
      permitted.add(asked)
    },
  }
}

async function partsOf(reference: Reference, resolving: Resolving): Promise<PartBody[]> {
  const { run, prompt, setup } = resolving
  try {
    if (reference.type === "command") {
      if (!prompt.references!.commands) return []
      const { output, ...whole } = await commandOutput(reference.value, resolving)
      const text = `Output of \`${reference.value}\`:\n${output}`
      return [{ ...noteOf(run, reference, text), metadata: { reference: reference.text, ...whole } }]
    }
    for (const meant of meanings(reference)) {
      const agent = setup.loaded.agents.get(meant.value)
      // A name that looks like a path means the file before the agent: a project can give its agents any name.
      const isFileFirst = /[./]/.test(meant.value)
      if (agent && isSubagent(agent) && !isFileFirst) return agentParts(run, meant, agent)
      const file = await referencedFile(meant, resolving)
      if (file) return [file]
      if (agent && isSubagent(agent)) return agentParts(run, meant, agent)
    }
    return []
  } catch (error) {
    if (run.writer.signal.aborted) throw error
    if (run.signal.aborted) return []
    const why = setup.mask(whyNot(error))
    return [noteOf(run, reference, `${reference.text} was left out. ${why}`)]
  }
}

function whyNot(error: unknown): string {
  return error instanceof PermissionRefused || StemmaError.is(error) ? error.message : errorText(error)
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu
const meaningsMax = 50

/** Chinese text follows a name without a space, as in "@src/a.ts里面", so each shorter name is tried too, the longest first. */
function meanings(reference: Reference): Reference[] {
  const { type, value, text, start } = reference
  if (type !== "name" || !text.startsWith("@")) return [reference]
  const heads = [...value.matchAll(unspaced)]
    .map(({ index }) => value.slice(0, index).replace(/[.@+-]+$/, ""))
    .filter((head) => head !== "")
    .reverse()
    .slice(0, meaningsMax)
    .map((head) => ({ type, value: head, text: `@${head}`, start, end: start + 1 + head.length }))
  return [reference, ...heads]
}

function agentParts(run: Run, { text, start, end }: Reference, { name }: Agent): PartBody[] {
  const { newID } = run
  return [
    { id: newID("part"), type: "agent", name, source: { value: text, start, end } },
    {
      id: newID("part"),
      type: "text",
      synthetic: true,
      text: `The message names the agent ${name}: give it the task with the task tool (subagent_type "${name}").`,
      metadata: { reference: text },
    },
  ]
}

function noteOf(run: Run, { text: value }: Reference, text: string): Extract<PartBody, { type: "text" }> {
  return { id: run.newID("part"), type: "text", synthetic: true, text, metadata: { reference: value } }
}
