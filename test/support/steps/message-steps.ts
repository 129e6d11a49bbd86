import type { HistoryItem, PartBody } from "../../../src/protocol/index.ts"
import { growingField, grownText } from "../../../src/session/replica/grow.ts"
import type { Op } from "../../../src/stores/commit.ts"
import type { Draw } from "../draw.ts"
import {
  bodyOfMessage,
  bodyOfPart,
  sampleAssistant,
  sampleFinished,
  samplePart,
  samplePartTypes,
  sampleText,
  sampleToolState,
  sampleUser,
} from "../samples.ts"
import { commitRun, drawSession, look, type World } from "../world.ts"
import { sealedTurn, sessionSteps } from "./session-steps.ts"
import type { Step, Steps } from "./step.ts"

const makeSession = (world: World, draw: Draw) => sessionSteps.create!.run(world, draw)

/** Appends a sealed turn, in some cases while a message is open. */
const turn: Step = {
  weight: 14,
  async run(world, draw) {
    const restless = draw.chance(10)
    const seen = await drawSession(world, draw, ({ open, session }) => restless || (!open && !session.revert))
    if (!seen) return makeSession(world, draw)
    await commitRun(world, seen.session.id, sealedTurn(world, draw, seen.session.id))
  },
}

const open: Step = {
  weight: 6,
  async run(world, draw) {
    const seen = await drawSession(world, draw, ({ open, session }) => !open && !session.revert)
    if (!seen) return makeSession(world, draw)
    const nowMs = world.clock.now()
    const id = world.ids.next("message")
    const before = seen.items.at(-1)?.message.id
    const message = before === undefined ? sampleUser(id, nowMs) : sampleAssistant(id, before, nowMs)
    const parts = [draw.one(samplePartTypes), draw.one(samplePartTypes)]
      .slice(0, draw.below(3))
      .map((type) => samplePart(type, { draw, ids: world.ids, blobs: [...world.blobs] }))
    const sealed = draw.chance(15) ? true : undefined
    await commitRun(world, seen.session.id, [
      { op: "message.append", sessionID: seen.session.id, message, parts, sealed },
    ])
  },
}

/** A session with an open message; a message is opened if there is none. */
async function openMessage(
  world: World,
  draw: Draw,
): Promise<{ sessionID: string; item: HistoryItem } | undefined> {
  const seen = await drawSession(world, draw, ({ open }) => open !== undefined)
  if (seen?.open) return { sessionID: seen.session.id, item: seen.open }
  await open.run(world, draw)
  for (const sessionID of world.live) {
    const { open: item } = await look(world, sessionID)
    if (item) return { sessionID, item }
  }
  return undefined
}

/** The same part with another value: grown text replaced or kept, a tool call in another state. */
function changedPart(part: PartBody, world: World, draw: Draw): { part: PartBody; grown?: "keep" } {
  const grown = draw.chance(35) ? ("keep" as const) : undefined
  if (part.type === "text" || part.type === "reasoning") {
    const text = grown && !draw.chance(10) ? "" : sampleText(draw)
    return { part: { ...part, text, metadata: { n: draw.below(5) } }, grown }
  }
  if (part.type === "tool") {
    const status = draw.one(["completed", "running", "error", "pending"] as const)
    const state = sampleToolState(status, draw, [...world.blobs])
    if (grown && state.status === "running" && !draw.chance(10)) delete state.output
    if (grown && state.status === "pending" && !draw.chance(10)) state.raw = ""
    return { part: { ...part, state }, grown }
  }
  const other = samplePart(part.type, { draw, ids: world.ids, blobs: [...world.blobs] })
  return { part: { ...other, id: part.id }, grown }
}

const putPart: Step = {
  weight: 14,
  async run(world, draw) {
    const found = await openMessage(world, draw)
    if (!found) return
    const { sessionID, item } = found
    const messageID = item.message.id
    const known = item.parts.length > 0 && draw.chance(45) ? draw.one(item.parts) : undefined
    const value = known
      ? changedPart(bodyOfPart(known), world, draw)
      : { part: samplePart(draw.one(samplePartTypes), { draw, ids: world.ids, blobs: [...world.blobs] }) }
    await commitRun(world, sessionID, [{ op: "part.put", sessionID, messageID, ...value }])
  },
}

const piece: Step = {
  weight: 14,
  async run(world, draw) {
    const found = await openMessage(world, draw)
    if (!found) return
    const { sessionID, item } = found
    const messageID = item.message.id
    const ops: Op[] = []
    let part: PartBody | undefined = item.parts
      .filter((candidate) => growingField(candidate))
      .at(draw.below(3))
    if (!part) {
      part = samplePart(draw.one(["text", "reasoning"]), { draw, ids: world.ids })
      ops.push({ op: "part.put", sessionID, messageID, part })
    }
    let offset = grownText(part).length
    for (let count = draw.below(3); count >= 0; count--) {
      const text = sampleText(draw)
      ops.push({
        op: "piece.add",
        sessionID,
        messageID,
        partID: part.id,
        field: growingField(part) ?? "text",
        offset,
        text,
      })
      offset += text.length
    }
    await commitRun(world, sessionID, ops)
  },
}

const truncate: Step = {
  weight: 3,
  async run(world, draw) {
    const found = await openMessage(world, draw)
    if (!found) return
    const { sessionID, item } = found
    const keep = draw.below(item.parts.length + 2)
    await commitRun(world, sessionID, [{ op: "part.truncate", sessionID, messageID: item.message.id, keep }])
  },
}

const putMessage: Step = {
  weight: 3,
  async run(world, draw) {
    const found = await openMessage(world, draw)
    if (!found) return
    const { sessionID, item } = found
    const message = sampleFinished(bodyOfMessage(item.message), draw, world.clock.now())
    await commitRun(world, sessionID, [{ op: "message.put", sessionID, message }])
  },
}

/** Settles running calls and seals; now and then without settling. */
const seal: Step = {
  weight: 10,
  async run(world, draw) {
    const found = await openMessage(world, draw)
    if (!found) return
    const { sessionID, item } = found
    const messageID = item.message.id
    const ops: Op[] = []
    for (const part of item.parts) {
      if (part.type !== "tool" || growingField(part) === undefined || draw.chance(8)) continue
      const state = sampleToolState(draw.one(["completed", "error"]), draw, [...world.blobs])
      ops.push({
        op: "part.put",
        sessionID,
        messageID,
        part: { ...bodyOfPart(part), type: "tool", state } as PartBody,
      })
    }
    const last = draw.chance(60)
      ? sampleFinished(bodyOfMessage(item.message), draw, world.clock.now())
      : undefined
    ops.push({ op: "message.seal", sessionID, messageID, message: last })
    await commitRun(world, sessionID, ops)
  },
}

export const messageSteps: Steps = { turn, open, putPart, piece, truncate, putMessage, seal }
