import type { Agent } from "../../config/agents/agent.ts"
import { toolSwitches } from "../../config/agents/agents.ts"
import type { Config } from "../../config/files/schema.ts"
import type { Grant } from "../../config/permission/grants.ts"
import type { Action, Ruleset, Session } from "../../protocol/index.ts"
import { type Decision, evaluateWithAncestors, matchWildcard, type PermitLevel } from "../../session/index.ts"
import type { Store } from "../../stores/store.ts"
import type { Wanted } from "../../tools/tool.ts"
import type { Projects, Setup } from "../project.ts"

const strictness: Record<Action, number> = { allow: 0, ask: 1, deny: 2 }
const ancestorsMax = 32
const denyAll: Ruleset = [{ permission: "*", pattern: "*", action: "deny" }]
/** The rules of this ancestor are unknown, so nothing is permitted. */
const unknownAncestor: PermitLevel = { rulesets: [denyAll] }

/** Decides what a session may do: by its own rules, those of every ancestor, and the `always` answers of a person. */
export class PermissionCheck {
  readonly #levels: readonly PermitLevel[]
  readonly #grants: readonly Grant[]
  /** The levels of other projects. The grants of this project do not apply to them. */
  readonly #foreign: readonly PermitLevel[]
  readonly #turnsAskIntoAllow: boolean
  /**
   * The agents of all levels, as a cache key. Set only if config and agents alone decide: no session has rules of its
   * own and no prompt has tool switches.
   */
  readonly agents: string | undefined

  constructor(options: {
    chain: readonly PermitLevel[]
    grants: readonly Grant[]
    foreign?: readonly PermitLevel[]
    agents?: string | undefined
    turnsAskIntoAllow?: boolean
  }) {
    this.#turnsAskIntoAllow = options.turnsAskIntoAllow ?? false
    this.#foreign = options.foreign ?? []
    this.#levels = options.chain
    this.#grants = options.grants
    this.agents = options.agents
  }

  /** The rules of each session: this one first, then its ancestors. */
  get levels(): readonly PermitLevel[] {
    return this.#levels
  }

  /** How many ancestors this session has. */
  get depth(): number {
    return this.#levels.length - 1
  }

  /** The same for an action of a person: `ask` becomes `allow`, since that person would be asked. `deny` stays. */
  get withoutQuestions(): PermissionCheck {
    const { agents } = this
    return new PermissionCheck({
      chain: this.#levels,
      grants: this.#grants,
      foreign: this.#foreign,
      agents,
      turnsAskIntoAllow: true,
    })
  }

  decide(wanted: Wanted, tool?: string): Decision {
    const decision = this.#decide(wanted, tool)
    return this.#turnsAskIntoAllow && decision.action === "ask" ? { ...decision, action: "allow" } : decision
  }

  #decide(wanted: Wanted, tool: string | undefined): Decision {
    const { permission, patterns, floor = "allow" } = wanted
    const decision = evaluateWithAncestors(
      { permission, patterns, ...(tool !== undefined && { tool }) },
      this.#levels,
    )
    const isGranted =
      decision.action === "ask" && patterns.every((pattern) => this.#isGranted(permission, pattern))
    const action = isGranted ? "allow" : decision.action
    return strictness[floor] > strictness[action] ? { ...decision, action: floor } : { ...decision, action }
  }

  #isGranted(permission: string, pattern: string): boolean {
    // Each pattern is decided alone: one that the rules allow needs no grant.
    const wanted = { permission, patterns: [pattern] }
    if (evaluateWithAncestors(wanted, this.#levels).action === "allow") return true
    if (this.#foreign.length > 0 && evaluateWithAncestors(wanted, this.#foreign).action !== "allow")
      return false
    return this.#grants.some(
      (grant) => grant.permission === permission && matchWildcard(pattern, grant.pattern),
    )
  }
}

/** Reads the ancestors each time, so that a new rule of a parent applies to its children at once. */
export async function loadPermissionCheck(options: {
  store: Store
  projects: Projects
  setup: Setup
  session: Session
  agent: Agent
  tools: Record<string, boolean> | undefined
  grants: readonly Grant[]
}): Promise<PermissionCheck> {
  const { store, setup, session, agent } = options
  const chain = [levelOf({ setup, session, agent, tools: options.tools })]
  const agents = [agent.name]
  const foreign: PermitLevel[] = []
  let isPlain = options.tools === undefined && !session.permission?.length
  const parents = session.parentID === undefined ? [] : await store.parents(session.id)
  let child = session
  for (const parent of parents.slice(0, ancestorsMax)) {
    const parentSetup = await setupOf(parent, options)
    // The agent that gave the task, which may differ from the parent session's own agent.
    const name = child.caller?.agent ?? parent.agent ?? (parentSetup && defaultAgent(parentSetup))
    const parentAgent = name === undefined ? undefined : parentSetup?.loaded.agents.get(name)
    const tools = child.caller?.tools
    const level = levelOf({ setup: parentSetup ?? setup, session: parent, agent: parentAgent, tools })
    // The agent or its directory no longer exists, so its rules are unknown and nothing is permitted.
    chain.push(parentAgent ? level : { ...level, rulesets: [...level.rulesets, denyAll] })
    if (parentSetup !== setup) foreign.push(level)
    agents.push(parentAgent?.name ?? "")
    isPlain &&=
      parentSetup === setup && parentAgent !== undefined && tools === undefined && !parent.permission?.length
    child = parent
  }
  const isWhole = child.parentID === undefined
  if (!isWhole) chain.push(unknownAncestor)
  const plain = isPlain && isWhole ? agents.join(" ") : undefined
  return new PermissionCheck({ chain, grants: options.grants, foreign, agents: plain })
}

/**
 * An ancestor may be in another directory, with its own rules and agents. Undefined if that directory cannot be loaded.
 */
async function setupOf(
  parent: Session,
  { session, setup, projects }: { session: Session; setup: Setup; projects: Projects },
): Promise<Setup | undefined> {
  if (parent.directory === session.directory) return setup
  try {
    return await (await projects.get(parent.directory)).setup()
  } catch {
    return undefined
  }
}

export function defaultAgent(setup: Setup): string {
  return setup.loaded.config.default_agent ?? "build"
}

function levelOf(options: {
  setup: Setup
  session: Session
  agent: Agent | undefined
  tools: Record<string, boolean> | undefined
}): PermitLevel {
  const { setup, session, agent } = options
  return {
    rulesets: [setup.loaded.rules, agent?.permission ?? [], session.permission ?? []],
    tools: toolSwitches(
      setup.loaded.config.tools,
      session.parentID === undefined ? undefined : childSwitches(setup.loaded.config),
      agent?.tools,
      options.tools,
    ),
  }
}

/** The tools that are off in a child session unless its agent turns them on. */
export function childSwitches({ experimental }: Config): Record<string, boolean> {
  const off = ["todowrite", "todoread", "task", ...experimental.primary_tools]
  return Object.fromEntries(off.map((name) => [name, false]))
}
