import type { Agent } from "../../config/agents/agent.ts"
import { grantScope } from "../../config/permission/grants.ts"
import {
  type HistoryItem,
  type InboxItem,
  type ModelRef,
  type PartBody,
  type PromptReferences,
  promptProblem,
  type Session,
  StemmaError,
  type TextSpans,
  type UserBody,
} from "../../protocol/index.ts"
import { referencesIn } from "../../session/index.ts"
import { storable } from "../../stores/prepare.ts"
import type { Store } from "../../stores/store.ts"
import type { Wanted } from "../../tools/tool.ts"
import type { Engine } from "../engine.ts"
import { loadPermissionCheck } from "../permission/permission-check.ts"
import type { Project, Setup } from "../project.ts"
import { findMessage } from "../schedule/waiters.ts"
import type { Prompt } from "../step/step.ts"
import { offeredAgent } from "../step/step-plan.ts"
import { promptID } from "./ids-after.ts"
import { checkBlobs, storedFiles } from "./prompt-files.ts"

type WithoutID<T> = T extends { id: string } ? Omit<T, "id"> & { id?: string } : never

/** A part of a prompt. A missing id is filled in. */
export type PromptPart = WithoutID<Extract<PartBody, { type: "text" | "file" | "agent" | "subtask" }>>

export interface PromptOptions {
  /** The client's own id. A prompt that is sent twice with the same id is one prompt. */
  messageID?: string
  /** For a busy session: `steer` is taken at the next step, `queue` after the current turn. `steer` if absent. */
  delivery?: "steer" | "queue"
  /** The agent that answers; the session's agent if absent. */
  agent?: string
  /** `provider/model`. */
  model?: string
  /** Added to the system prompt for this message only. */
  system?: string
  /** Tools switched on or off for this message. */
  tools?: Record<string, boolean>
  /** A variant of the model that the config defines, such as a reasoning effort. */
  variant?: string
  /**
   * Which references in the text are resolved. `@path`, `[[path]]`, `@agent` and `[[agent]]` name files and agents;
   * `` !`command` `` stands for the output of a command. Files and commands need the session's permission. `all` if absent;
   * `files` resolves no commands, `none` resolves nothing.
   */
  references?: "all" | "files" | "none"
  /** No person can answer questions about this prompt, as for a message from a chat channel: an `ask` is refused at once. */
  unattended?: boolean
}

/** What a prompt says. The shapes of `parts` and `prompt` are checked, and both are copies of what a caller gave. */
export interface PromptContent {
  parts: readonly PromptPart[]
  prompt: PromptOptions
  /** Where in the first part references stand that need no permission question. */
  fixed?: TextSpans
}

/** The inbox item of a prompt: with ids, the agent and the model that answer it, and attached files stored as blobs. */
export async function promptItem(
  options: PromptContent & { engine: Engine; session: Session },
): Promise<Prompt> {
  const { engine, session, prompt } = options
  const problem = promptProblem(options.parts.slice())
  if (problem !== undefined) throw badPrompt(problem)
  const project = await engine.projects.get(session.directory)
  const setup = await project.setup()
  const agent = offeredAgent(setup, prompt.agent ?? session.agent)
  const id = prompt.messageID ?? (await promptID(engine, session.id))
  const now = engine.clock.now()
  const wanted = prompt.references ?? "all"
  const message: UserBody = {
    id,
    role: "user",
    time: { created: now },
    agent: agent.name,
    model: await modelFor(setup, {
      session,
      agentModel: agent.model,
      ...(prompt.model !== undefined && { model: prompt.model }),
    }),
    ...(prompt.system !== undefined && { system: prompt.system }),
    ...(prompt.tools && { tools: prompt.tools }),
    ...(prompt.variant !== undefined && { variant: prompt.variant }),
    ...(wanted !== "all" && { references: wanted }),
    ...(prompt.unattended && { unattended: true }),
  }
  const bare = options.parts.map((part): PartBody => {
    const id = part.id ?? engine.newID("part")
    // References in a subtask's prompt are resolved in the child session.
    return part.type === "subtask" && wanted !== "all" ? { ...part, id, references: wanted } : { ...part, id }
  })
  const parts = bare.some(({ type }) => type === "file")
    ? await withFiles(bare, { engine, project, setup, session, agent, tools: prompt.tools })
    : bare
  if (parts.some((part) => part.type === "text" && part.metadata)) await checkBlobs(parts, engine.store)
  const references = referencesOf(parts, { wanted, fixed: options.fixed })
  return {
    id,
    sessionID: session.id,
    time: now,
    type: "prompt",
    delivery: prompt.delivery ?? "steer",
    message,
    parts,
    ...(references && { references }),
  }
}

function badPrompt(problem: string): StemmaError {
  return new StemmaError("invalid", `Wrong prompt for session.prompt: ${problem}.`, {
    details: { call: "session.prompt", argument: "prompt" },
  })
}

/** Undefined if the prompt has no references. */
function referencesOf(
  parts: readonly PartBody[],
  { wanted, fixed }: { wanted: "all" | "files" | "none"; fixed: TextSpans | undefined },
): PromptReferences | undefined {
  if (wanted === "none") return undefined
  const found = parts.filter(
    (part) => part.type === "text" && !part.synthetic && !part.ignored && referencesIn(part.text).length > 0,
  )
  if (found.length === 0) return undefined
  const listed = found.map(({ id }) => ({ partID: id, ...(fixed && id === parts[0]?.id && { fixed }) }))
  return { commands: wanted === "all", parts: listed }
}

async function withFiles(
  parts: PartBody[],
  from: {
    engine: Engine
    project: Project
    setup: Setup
    session: Session
    agent: Agent
    tools: Record<string, boolean> | undefined
  },
): Promise<PartBody[]> {
  const { store } = from.engine
  const grants = await from.project.grants.list(grantScope(from.setup.loaded.project))
  const permissionCheck = await loadPermissionCheck({
    ...from,
    projects: from.engine.projects,
    store,
    grants,
  })
  const access = {
    workspace: from.project.workspace,
    decide: (wanted: Wanted) => permissionCheck.decide(wanted).action,
    store,
  }
  return storedFiles(parts, access)
}

/** The model that answers a prompt, in this order: named by the prompt, the agent, the session, the config, or the default. */
export async function modelFor(
  setup: Setup,
  from: { session: Session; model?: string; agentModel: string | undefined },
): Promise<ModelRef> {
  const { session, model } = from
  if (model !== undefined) return modelRef(model)
  if (from.agentModel !== undefined) return modelRef(from.agentModel)
  if (session.model) return session.model
  return modelRef(setup.loaded.config.model ?? (await setup.models.standard()))
}

/** Parses `provider/model`. The name of a model may contain slashes. */
export function modelRef(name: string): ModelRef {
  const slash = name.indexOf("/")
  if (slash <= 0 || slash === name.length - 1) {
    throw new StemmaError(
      "invalid",
      `${name} is not a model name. Write provider/model, such as openai/gpt-5.`,
    )
  }
  return { providerID: name.slice(0, slash), modelID: name.slice(slash + 1) }
}

/**
 * Admits a prompt to the inbox. A prompt with the same id and the same content as an earlier one is a duplicate, even if its
 * time and part ids differ. `isNamed`: the caller chose the id, so the history may already have it. A prompt that could never
 * be taken is refused here: in the inbox it would block everything behind it.
 */
export async function admitPrompt(
  store: Store,
  item: Prompt,
  { isNamed }: { isNamed: boolean },
): Promise<{ isDuplicate: boolean }> {
  const taken = isNamed ? await findMessage(store, item.sessionID, item.id) : undefined
  if (taken) {
    if (!isSameWords(taken, item) || !(await isAnswered(store, taken))) throw otherMessage(item)
    return { isDuplicate: true }
  }
  try {
    return { isDuplicate: (await store.admit(item)).duplicate }
  } catch (error) {
    if (!StemmaError.is(error, "conflict")) throw error
    const waiting = (await store.inbox(item.sessionID)).find(({ id }) => id === item.id)
    const known = waiting ?? (await findMessage(store, item.sessionID, item.id))
    if (!known || !isSameWords(known, item)) throw error
    return { isDuplicate: true }
  }
}

function otherMessage({ id, sessionID }: Prompt): StemmaError {
  return new StemmaError(
    "conflict",
    `The history of session ${sessionID} has another message with the id ${id}. Send the prompt with another messageID, or without one.`,
    { details: { sessionID, messageID: id } },
  )
}

/** Taking a prompt and opening its answer is one commit, so a user message without an answer was not sent as a prompt. */
async function isAnswered(store: Store, { message, position }: HistoryItem): Promise<boolean> {
  const { items } = await store.history(message.sessionID, { from: position + 1, take: "start", limit: 1000 })
  return items.some((item) => item.message.role === "assistant")
}

function isSameWords(known: HistoryItem | InboxItem, item: Prompt): boolean {
  if (!("message" in known) || known.message.role !== "user") return false
  // Resolved references were added behind the parts that were sent.
  const sent = item.references ? known.parts.slice(0, item.parts.length) : known.parts
  return wordsOf(known.message, sent) === wordsOf(item.message, item.parts)
}

function wordsOf(message: UserBody, parts: readonly PartBody[]): string {
  const { agent, system, tools, variant } = message
  const bare = parts.map((part) => {
    const { id: _, sessionID: _s, messageID: _m, ...rest } = part as PartBody & Record<string, unknown>
    return Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))
  })
  // Compared in the form that the store keeps, in which NUL and lone surrogates are replaced.
  return JSON.stringify(storable({ agent, system, tools, variant, bare }))
}
