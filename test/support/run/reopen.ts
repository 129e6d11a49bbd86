import { openStore, type SessionHandle, type Stemma, type Store } from "../../../src/index.ts"
import type { ModelServer } from "../model-server/server.ts"
import { waitMsMax } from "../run-scene.ts"
import { pairProblems } from "./answers.ts"
import { historyProblems, ranCalls } from "./history-problems.ts"
import { endOf, finishOf, type Left, leftBehind } from "./left-behind.ts"
import { openShared, type SharedScene, sharedPaths } from "./scene.ts"
import { lostTexts } from "./seen.ts"
import { storeWith } from "./store-with.ts"
import type { Victim, VictimPrompt } from "./victim.ts"

export interface ReopenOptions {
  scene: SharedScene
  server: ModelServer
  recover: boolean
  /** The prompts are sent again, as from a client that does not know their state. */
  isSentAgain: boolean
}

export interface Reopened {
  /** How the answer to the long prompt ended. */
  finish: string | undefined
  /** From opening to the first commit under a new lease. */
  takeoverMs: number
  /** Texts that were shown 100 ms before the kill by the wall clock, and are not stored. */
  starved: number
}

/** Opens the store that dead processes left, sends another prompt, and throws all problems. */
export async function reopen(victim: Victim, options: ReopenOptions): Promise<Reopened> {
  const { scene, recover } = options
  const startedAt = performance.now()
  await using store = await openStore({ path: sharedPaths(scene).database })
  const before = await leftBehind(store, victim.sessionID)
  let firstCommitAt: number | undefined
  const timed = onFenced(store, () => {
    firstCommitAt ??= performance.now()
  })
  const warnings: unknown[] = []
  const onWarning = (error: unknown) => warnings.push(error)
  await using stemma = await openShared(scene, { store: timed, recover, onWarning })
  const session = await stemma.sessions.create({ id: victim.sessionID })
  for (const prompt of recover ? victim.prompts : []) {
    if (options.isSentAgain || isNew(before, prompt)) await sendAgain(session, prompt)
    else await waitForEnd(stemma, { session, prompt })
  }
  const said = `say next ${victim.number}`
  const next = await session.prompt(said, { delivery: "queue" })

  const items = await session.messages()
  const problems = [
    ...historyProblems(items, { session: await session.info(), ran: ranCalls(sharedPaths(scene).ran) }),
    ...lostTexts(victim.seen, items),
    ...options.server.requests.splice(0).flatMap(({ body }) => pairProblems(body)),
    ...victim.prompts.flatMap((prompt) => endProblems({ before, items, prompt, recover })),
    ...(await store.check()).problems,
    ...warnings.map((warning) => `warned: ${warning}`),
  ]
  if (next.text !== `answer to ${said}`) problems.push(`the next prompt got ${JSON.stringify(next)}`)
  if (problems.length > 0) {
    const how = `Session ${victim.sessionID}, ${victim.deaths} deaths, recover ${recover}`
    throw new Error(
      `${how}: ${problems.join("; ")}\n${brief(before)}\nbecame\n${brief({ items, waiting: [] })}`,
    )
  }
  return {
    finish: finishOf(items, victim.prompts[0].messageID),
    takeoverMs: firstCommitAt! - startedAt,
    starved: lostTexts(victim.seenByClock, items).length,
  }
}

function isNew({ items, waiting }: Left, { messageID }: VictimPrompt): boolean {
  return !waiting.includes(messageID) && !items.some(({ message }) => message.id === messageID)
}

function endProblems(from: {
  before: Left
  items: Left["items"]
  prompt: VictimPrompt
  recover: boolean
}): string[] {
  const { before, items, prompt, recover } = from
  const { messageID, text } = prompt
  const finish = finishOf(items, messageID)
  if (!recover && isNew(before, prompt)) return finish === undefined ? [] : [`${text} was never sent`]
  const wasOver = endOf(before.items, messageID) !== undefined
  const wasTaken = !before.waiting.includes(messageID)
  if (!recover && wasTaken && !wasOver) {
    return finish === "interrupted" ? [] : [`${text} ended as ${finish} without recover`]
  }
  // An answer that was interrupted too often may stay interrupted; `endOf` counts the interruptions.
  return finish === "stop" || endOf(items, messageID) === "interrupted" ? [] : [`${text} ended as ${finish}`]
}

async function sendAgain(session: SessionHandle, { text, messageID }: VictimPrompt): Promise<void> {
  const { message } = await session.prompt(text, { messageID, delivery: "queue" })
  const end = endOf(await session.messages(), messageID)
  if (message.finish !== end) throw new Error(`${text}, sent again, got ${message.finish}, then came ${end}.`)
}

async function waitForEnd(
  stemma: Stemma,
  { session, prompt }: { session: SessionHandle; prompt: VictimPrompt },
): Promise<void> {
  const until = performance.now() + waitMsMax
  while (endOf(await session.messages(), prompt.messageID) === undefined) {
    if (performance.now() > until) {
      throw new Error(`No process answered ${prompt.text}: ${JSON.stringify(stemma.status(session.id))}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Calls back on commits under a lease. */
function onFenced(store: Store, tell: () => void): Store {
  return storeWith(store, {
    commit: async (commit) => {
      const committed = await store.commit(commit)
      if (Object.keys(commit.fences ?? {}).length > 0) tell()
      return committed
    },
  })
}

function brief({ items, waiting }: Left): string {
  const lines = items.map(({ message, parts, sealed }) => {
    const finish = message.role === "assistant" ? message.finish : ""
    const kinds = parts.map((part) =>
      part.type === "tool" ? `${part.tool}:${part.state.status}` : part.type,
    )
    return `${message.role} ${finish} ${sealed ? "sealed" : "open"}: ${kinds.join(" ")}`
  })
  return [...lines, `${waiting.length} waiting`].join("\n")
}
