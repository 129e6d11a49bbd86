import type { Agent } from "../config/agent.ts"
import { grantScope } from "../config/grants.ts"
import {
  type IDKind,
  MessageID,
  type ModelRef,
  PartBody,
  parseOrInvalid,
  type Session,
  StemmaError,
  type UserBody,
} from "../protocol/index.ts"
import type { Store } from "../stores/store.ts"
import type { Wanted } from "../tools/tool.ts"
import type { Engine } from "./engine.ts"
import { loadJudge } from "./judge.ts"
import type { Project, Setup } from "./project.ts"
import { storedFile } from "./prompt-files.ts"
import type { Prompt } from "./step.ts"
import { offeredAgent } from "./step-plan.ts"
import { findMessage } from "./waiters.ts"

type WithoutID<T> = T extends { id: string } ? Omit<T, "id"> & { id?: string } : never

/** A part of a prompt; ids are filled in. */
export type PromptPart = WithoutID<Extract<PartBody, { type: "text" | "file" | "agent" | "subtask" }>>

export interface PromptOptions {
  /** The client's own id: the same prompt sent twice with it is one prompt. */
  messageID?: string
  /** To a busy session: `steer` is taken at the next step, `queue` when the run is done. `steer` if absent. */
  delivery?: "steer" | "queue"
  agent?: string
  /** `provider/model`. */
  model?: string
  /** Joins the system prompt for this message only. */
  system?: string
  /** Tools switched on or off for this message. */
  tools?: Record<string, boolean>
  variant?: string
}

/** The inbox item of a prompt, checked. */
export async function promptItem(options: {
  engine: Engine
  session: Session
  input: string | readonly PromptPart[]
  prompt: PromptOptions
}): Promise<Prompt> {
  const { engine, session, input, prompt } = options
  const project = await engine.projects.get(session.directory)
  const setup = await project.setup()
  const agent = offeredAgent(setup, prompt.agent ?? session.agent)
  const id = prompt.messageID ?? engine.newID("message")
  parseOrInvalid(MessageID, id, "The message id")
  const now = engine.clock.now()
  const message: UserBody = {
    id,
    role: "user",
    time: { created: now },
    agent: agent.name,
    model: await modelOf(setup, { session, prompt, agentModel: agent.model }),
    ...(prompt.system !== undefined && { system: prompt.system }),
    ...(prompt.tools && { tools: prompt.tools }),
    ...(prompt.variant !== undefined && { variant: prompt.variant }),
  }
  const bare = promptParts(input, { newID: engine.newID })
  const parts = bare.some(({ type }) => type === "file")
    ? await withFiles(bare, { engine, project, setup, session, agent, tools: prompt.tools })
    : bare
  return {
    id,
    sessionID: session.id,
    time: now,
    type: "prompt",
    delivery: prompt.delivery ?? "steer",
    message,
    parts,
  }
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
  const judge = await loadJudge({ ...from, projects: from.engine.projects, store, grants })
  const access = {
    workspace: from.project.workspace,
    decide: (wanted: Wanted) => judge.decide(wanted).action,
    store,
  }
  return Promise.all(parts.map((part) => storedFile(part, access)))
}

export function promptParts(
  input: string | readonly PromptPart[],
  { newID }: { newID: (kind: IDKind) => string },
): PartBody[] {
  const parts = typeof input === "string" ? [{ type: "text" as const, text: input }] : input
  if (!Array.isArray(parts) || parts.length === 0) {
    throw new StemmaError("invalid", "A prompt needs a text or at least one part.")
  }
  return parts.map((part) => {
    const body = parseOrInvalid(PartBody, { ...part, id: part.id ?? newID("part") }, "A part of the prompt")
    if (allowed.has(body.type)) return body
    throw new StemmaError(
      "invalid",
      `A prompt cannot have a ${body.type} part: give text, file, agent or subtask.`,
    )
  })
}

const allowed = new Set<PartBody["type"]>(["text", "file", "agent", "subtask"])

async function modelOf(
  setup: Setup,
  from: { session: Session; prompt: PromptOptions; agentModel: string | undefined },
): Promise<ModelRef> {
  const { session, prompt } = from
  if (prompt.model !== undefined) return modelRef(prompt.model)
  if (from.agentModel !== undefined) return modelRef(from.agentModel)
  if (session.model) return session.model
  return modelRef(setup.loaded.config.model ?? (await setup.models.standard()))
}

/** `provider/model`; a model's own name may have slashes in it. */
export function modelRef(name: string): ModelRef {
  const slash = name.indexOf("/")
  if (slash <= 0 || slash === name.length - 1) {
    throw new StemmaError("invalid", `${name} is not a model: write provider/model, such as openai/gpt-5.`)
  }
  return { providerID: name.slice(0, slash), modelID: name.slice(slash + 1) }
}

/**
 * Admits a prompt. One that was sent before with the same id and the same words is the same prompt, whatever time and
 * part ids it was given on the way.
 */
export async function admitPrompt(store: Store, item: Prompt): Promise<{ isDuplicate: boolean }> {
  try {
    return { isDuplicate: (await store.admit(item)).duplicate }
  } catch (error) {
    if (!StemmaError.is(error, "conflict")) throw error
    const known = await admittedBefore(store, item)
    if (known === undefined || wordsOf(known) !== wordsOf(item)) throw error
    return { isDuplicate: true }
  }
}

type Words = Pick<Prompt, "parts"> & { message: Pick<UserBody, "agent" | "system" | "tools" | "variant"> }

async function admittedBefore(store: Store, item: Prompt): Promise<Words | undefined> {
  const waiting = (await store.inbox(item.sessionID)).find(({ id }) => id === item.id)
  if (waiting?.type === "prompt") return waiting
  const taken = await findMessage(store, item.sessionID, item.id)
  if (taken?.message.role !== "user") return undefined
  const { message } = taken
  return { message, parts: taken.parts }
}

function wordsOf({ message, parts }: Words): string {
  const { agent, system, tools, variant } = message
  const bare = parts.map((part) => {
    const { id: _, sessionID: _s, messageID: _m, ...rest } = part as PartBody & Record<string, unknown>
    return Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))
  })
  return JSON.stringify({ agent, system, tools, variant, bare })
}
