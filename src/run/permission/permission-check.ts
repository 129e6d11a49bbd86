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
/** Nobody knows what it may not do, so nothing is permitted. */
const unknownAncestor: PermitLevel = { rulesets: [denyAll] }

/** Says what a session may do: by its own rules, by those of every ancestor, and by what a person has allowed for good. */
export class PermissionCheck {
  readonly #chain: readonly PermitLevel[]
  readonly #grants: readonly Grant[]
  /** The levels of other projects, for which a person has allowed nothing here. */
  readonly #foreign: readonly PermitLevel[]
  readonly #asksNobody: boolean
  /** The agents of the chain, if only the config and they decide: no rules of a session, no switches of a prompt. */
  readonly agents: string | undefined

  constructor(options: {
    chain: readonly PermitLevel[]
    grants: readonly Grant[]
    foreign?: readonly PermitLevel[]
    agents?: string | undefined
    asksNobody?: boolean
  }) {
    this.#asksNobody = options.asksNobody ?? false
    this.#foreign = options.foreign ?? []
    this.#chain = options.chain
    this.#grants = options.grants
    this.agents = options.agents
  }

  /** What each session says by itself: this one first, then those above it. */
  get levels(): readonly PermitLevel[] {
    return this.#chain
  }

  /** How many sessions are above this one. */
  get depth(): number {
    return this.#chain.length - 1
  }

  /** The same for what a person does by hand: whom to ask is there already, and what is forbidden stays so. */
  get withoutQuestions(): PermissionCheck {
    const { agents } = this
    return new PermissionCheck({
      chain: this.#chain,
      grants: this.#grants,
      foreign: this.#foreign,
      agents,
      asksNobody: true,
    })
  }

  decide(wanted: Wanted, tool?: string): Decision {
    const decision = this.#decide(wanted, tool)
    return this.#asksNobody && decision.action === "ask" ? { ...decision, action: "allow" } : decision
  }

  #decide(wanted: Wanted, tool: string | undefined): Decision {
    const { permission, patterns, floor = "allow" } = wanted
    const decision = evaluateWithAncestors(
      { permission, patterns, ...(tool !== undefined && { tool }) },
      this.#chain,
    )
    const isGranted =
      decision.action === "ask" && patterns.every((pattern) => this.#isGranted(permission, pattern))
    const action = isGranted ? "allow" : decision.action
    return strictness[floor] > strictness[action] ? { ...decision, action: floor } : { ...decision, action }
  }

  #isGranted(permission: string, pattern: string): boolean {
    // Whatever is not asked about any more by rule needs no grant: each pattern is judged alone.
    const wanted = { permission, patterns: [pattern] }
    if (evaluateWithAncestors(wanted, this.#chain).action === "allow") return true
    if (this.#foreign.length > 0 && evaluateWithAncestors(wanted, this.#foreign).action !== "allow")
      return false
    return this.#grants.some(
      (grant) => grant.permission === permission && matchWildcard(pattern, grant.pattern),
    )
  }
}

/** Ancestors are read anew each time, so that a rule set on a parent holds for its children at once. */
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
    const theirs = await setupOf(parent, options)
    // As whom the parent gave the task, which may be another agent than the session's own.
    const name = child.caller?.agent ?? parent.agent ?? (theirs && defaultAgent(theirs))
    const parentAgent = name === undefined ? undefined : theirs?.loaded.agents.get(name)
    const tools = child.caller?.tools
    const level = levelOf({ setup: theirs ?? setup, session: parent, agent: parentAgent, tools })
    // Nobody knows any more what that agent, or in that directory, was forbidden.
    chain.push(parentAgent ? level : { ...level, rulesets: [...level.rulesets, denyAll] })
    if (theirs !== setup) foreign.push(level)
    agents.push(parentAgent?.name ?? "")
    isPlain &&=
      theirs === setup && parentAgent !== undefined && tools === undefined && !parent.permission?.length
    child = parent
  }
  const isWhole = child.parentID === undefined
  if (!isWhole) chain.push(unknownAncestor)
  const plain = isPlain && isWhole ? agents.join(" ") : undefined
  return new PermissionCheck({ chain, grants: options.grants, foreign, agents: plain })
}

/** An ancestor may be in another directory, with rules and agents of its own; undefined if that is gone. */
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

/** The tools that a session below another one has only if its agent says so. */
export function childSwitches({ experimental }: Config): Record<string, boolean> {
  const off = ["todowrite", "todoread", "task", ...experimental.primary_tools]
  return Object.fromEntries(off.map((name) => [name, false]))
}
