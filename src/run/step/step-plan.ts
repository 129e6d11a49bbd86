import type { Agent } from "../../config/agents/agent.ts"
import { type Grant, grantScope } from "../../config/permission/grants.ts"
import type { Model, ModelTool } from "../../models/model.ts"
import { type Action, type PartBody, StemmaError, type UserBody } from "../../protocol/index.ts"
import type { Tool, Wanted } from "../../tools/tool.ts"
import type { Run } from "../loop/run.ts"
import { defaultAgent, loadPermissionCheck, type PermissionCheck } from "../permission/permission-check.ts"
import type { Setup } from "../project.ts"
import type { OpenMessage } from "./open-message.ts"
import { offeredTools } from "./tools/toolbox.ts"

/** The step limit of a turn if neither the agent nor the config sets one. */
export const defaultStepsMax = 250

/** Everything that one step needs, fixed when the step starts. */
export interface Step {
  run: Run
  openMessage: OpenMessage
  setup: Setup
  agent: Agent
  model: Model
  user: UserBody
  tools: ReadonlyMap<string, Tool>
  offered: readonly ModelTool[]
  isLastStep: boolean
  /** Loads the permission rules as they are now. */
  judge: () => Promise<PermissionCheck>
  /** Decides by the permission rules as they were when the step began. */
  decide: (wanted: Wanted, tool?: string) => Action
  /**
   * Takes a snapshot of the files before the first tool call that may write. Later calls wait for the same snapshot.
   */
  snapshotBefore: () => Promise<void>
  /** The snapshot, once it is taken. */
  snapshot: () => string | undefined
}

export async function planStep(
  run: Run,
  {
    openMessage,
    user,
    grants,
  }: { openMessage: OpenMessage; user: UserBody; grants: Promise<readonly Grant[]> },
): Promise<Step> {
  const setup = await run.setup()
  const agent = findAgent(setup, user.agent)
  const model = await setup.models.get(`${user.model.providerID}/${user.model.modelID}`)
  const session = async () => {
    if (!run.isSessionFresh) return run.engine.store.session(run.sessionID)
    run.isSessionFresh = false
    return run.session
  }
  const loadCheck = async (known: Promise<readonly Grant[]>, now: Setup) =>
    loadPermissionCheck({
      store: run.engine.store,
      projects: run.engine.projects,
      setup: now,
      session: await session(),
      agent: now.loaded.agents.get(agent.name) ?? agent,
      tools: user.tools,
      grants: await known,
    })
  const atStart = await loadCheck(grants, setup)
  const { tools, offered } = await offeredTools({ setup, agent, permissionCheck: atStart })
  run.offered = offered
  const stepsMax = agent.stepsMax ?? setup.loaded.config.stepsMax ?? defaultStepsMax
  return {
    run,
    openMessage,
    setup,
    agent,
    model,
    user,
    tools,
    offered,
    isLastStep: run.steps >= stepsMax,
    judge: async () => loadCheck(listGrants(run), await run.setup()),
    decide: (wanted, tool) => atStart.decide(wanted, tool).action,
    ...snapshotOnce(run, openMessage),
  }
}

/**
 * The `always` answers in the run's project. The caller may ignore the promise, so a rejection must not be unhandled.
 */
export function listGrants(run: Run): Promise<readonly Grant[]> {
  const listing = run.setup().then(({ loaded }) => run.project.grants.list(grantScope(loaded.project)))
  listing.catch(() => {})
  return listing
}

/** Finds an agent that a caller may choose. Hidden agents (title, compaction) are for internal use. */
export function offeredAgent(setup: Setup, name: string | undefined): Agent {
  const agent = findAgent(setup, name)
  if (!agent.hidden) return agent
  throw new StemmaError(
    "invalid",
    `The agent ${agent.name} is for Stemma's internal use. Choose another agent.`,
  )
}

export function findAgent(setup: Setup, name: string | undefined): Agent {
  const wanted = name ?? defaultAgent(setup)
  const agent = setup.loaded.agents.get(wanted)
  if (agent) return agent
  const names = [...setup.loaded.agents.values()].filter((one) => !one.hidden).map((one) => one.name)
  throw new StemmaError("invalid", `There is no agent ${wanted}. There are: ${names.join(", ")}.`)
}

export function snapshotOnce(run: Run, openMessage: OpenMessage): Pick<Step, "snapshotBefore" | "snapshot"> {
  let taken: Promise<void> | undefined
  let snapshot: string | undefined
  const take = async () => {
    snapshot = await run.project.snapshots.take(run.signal).catch((error: unknown) => {
      if (!run.signal.aborted) run.engine.warn(error)
      return undefined
    })
    if (snapshot === undefined) return
    const part: PartBody = { id: run.newID("part"), type: "snapshot", snapshot }
    openMessage.put(part)
  }
  return {
    snapshotBefore: () => {
      taken ??= take()
      return taken
    },
    snapshot: () => snapshot,
  }
}
