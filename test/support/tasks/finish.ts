import type { Stemma } from "../../../src/index.ts"
import { toolParts } from "../run/history-problems.ts"
import { endOf, leftBehind } from "../run/left-behind.ts"
import type { Asked } from "./tree-problems.ts"

/** A working process never writes nothing for this long, even on a busy machine. */
const stillMs = 25_000

/**
 * Waits for the answer to a prompt whose processes died. The prompt is sent again, as by a client that does not know
 * its state, or recovery continues the existing answer.
 */
export async function finish(
  stemma: Stemma,
  asked: Asked,
  { isSentAgain }: { isSentAgain: boolean },
): Promise<void> {
  const { sessionID, messageID, prompt } = asked
  let writtenAt = performance.now()
  const unwatch = stemma.store.watch(() => {
    writtenAt = performance.now()
  })
  try {
    const session = await stemma.sessions.create({ id: sessionID })
    const { items, waiting } = await leftBehind(stemma.store, sessionID)
    const isKnown = waiting.includes(messageID) || items.some(({ message }) => message.id === messageID)
    const isSent = isSentAgain || !isKnown
    let isAnswered = false
    const reply = isSent ? session.prompt(prompt, { messageID, delivery: "queue" }) : undefined
    const end = () => {
      isAnswered = true
    }
    reply?.then(end, end)
    while (isSent ? !isAnswered : endOf(await session.messages(), messageID) === undefined) {
      if (performance.now() - writtenAt > stillMs) throw new Error(await stillness(stemma, asked))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await reply
  } finally {
    unwatch()
  }
}

async function stillness(stemma: Stemma, { sessionID, prompt }: Asked): Promise<string> {
  const lines = [`No process continues ${prompt}:`]
  for (const { id, title } of await stemma.store.tree(sessionID)) {
    const { items, waiting } = await leftBehind(stemma.store, id)
    const last = items.at(-1)
    const calls = last ? toolParts([last]).map(({ tool, state }) => `${tool}:${state.status}`) : []
    const finish = last?.message.role === "assistant" ? last.message.finish : ""
    const how = `${last?.message.role} ${finish} ${last?.sealed ? "sealed" : "open"} ${calls.join(" ")}`
    lines.push(`${id} ${title} is ${stemma.status(id).type}: ${how}, ${waiting.length} waiting`)
  }
  return lines.join("\n")
}
