import type { NewSession, PartBody, Session } from "../../../src/protocol/index.ts"
import { revertPlan } from "../../../src/session/history/revert.ts"
import type { Op, OpOf } from "../../../src/stores/commit.ts"
import type { Draw } from "../draw.ts"
import {
  bodyOfMessage,
  copyParts,
  sampleAssistant,
  samplePart,
  samplePartTypes,
  sampleSecrets,
  sampleSession,
  sampleText,
  sampleUser,
} from "../samples.ts"
import { commit, commitRun, drawSession, type Seen, type World } from "../world.ts"
import type { Step, Steps } from "./step.ts"

/** A turn of sealed messages, as in an import or a first commit. */
export function sealedTurn(world: World, draw: Draw, sessionID: string): Op[] {
  const nowMs = world.clock.now()
  const user = sampleUser(world.ids.next("message"), nowMs)
  const assistant = sampleAssistant(world.ids.next("message"), user.id, nowMs)
  const part = () =>
    samplePart(draw.one(samplePartTypes), { draw, ids: world.ids, blobs: [...world.blobs], settled: true })
  const text: PartBody = { id: world.ids.next("part"), type: "text", text: sampleText(draw) }
  return [
    { op: "message.append", sessionID, message: user, parts: [text], sealed: true },
    { op: "message.append", sessionID, message: assistant, parts: [part(), part()], sealed: true },
  ]
}

/** A few sessions with long histories find more bugs than many short ones. */
const sessionsMax = 7

const create: Step = {
  weight: 5,
  async run(world, draw) {
    if (world.live.length >= sessionsMax) return patch.run(world, draw)
    const id = world.ids.next("session")
    const parentID = world.live.length > 0 && draw.chance(30) ? draw.one(world.live) : undefined
    const session: NewSession = { ...sampleSession(id, draw, world.clock.now()), parentID }
    const ops: Op[] = [{ op: "session.create", session, segment: world.ids.next("segment") }]
    if (draw.chance(50)) ops.push(...sealedTurn(world, draw, id))
    const answer = await commit(world, ops)
    if ("value" in answer) world.live.push(id)
  },
}

function samplePatch(world: World, draw: Draw): OpOf<"session.patch">["set"] {
  return draw.one([
    { title: sampleText(draw) },
    { title: "beta 配置" },
    { time: { updated: world.clock.now() } },
    { time: { archived: world.clock.now() } },
    { time: { archived: null, compacting: world.clock.now() } },
    { agent: draw.one(["build", "plan", null]) },
    { key: draw.one(["telegram:1", "telegram:2", null]) },
    { model: { providerID: "demo", modelID: "demo-2" }, budget: 0.5 },
    { model: null, budget: null, maxHistory: null, permission: null },
    { summary: { additions: 1, deletions: 2, files: 1 }, share: { url: "https://example.org/s" } },
    { summary: null, share: null },
    { share: { url: "https://example.org/1", secret: draw.one(sampleSecrets) } },
    { caller: draw.one([{ messageID: "msg-other", agent: "plan" }, null]) },
    { maxHistory: 4, permission: [{ permission: "bash", pattern: "git *", action: "allow" as const }] },
  ])
}

const patch: Step = {
  weight: 5,
  async run(world, draw) {
    if (world.live.length === 0) return create.run(world, draw)
    const sessionID = draw.one(world.live)
    const tokens = { input: 3, output: 1, reasoning: 0, cache: { read: 2, write: 1 } }
    const add = draw.chance(40) ? { cost: draw.one([0.1, 0.2, 0.007]), tokens } : undefined
    await commit(world, [{ op: "session.patch", sessionID, set: samplePatch(world, draw), add }])
  },
}

/** A cut copy of a sealed message, with new ids, which a fork or a revert at a part appends. */
function cutCopy(world: World, draw: Draw, seen: Seen): OpOf<"session.fork">["tail"] {
  const sealed = seen.items.filter((item) => item.sealed)
  if (sealed.length === 0) return undefined
  const item = draw.one(sealed)
  return {
    message: { ...bodyOfMessage(item.message), id: world.ids.next("message") },
    parts: copyParts(item.parts.slice(0, draw.below(item.parts.length + 1)), world.ids),
  }
}

const fork: Step = {
  weight: 8,
  async run(world, draw) {
    if (world.live.length >= 2 * sessionsMax) return move.run(world, draw)
    const fromLeft = draw.chance(30)
    const seen = await drawSession(world, draw, ({ session }) => !fromLeft || session.history.left.length > 0)
    if (!seen) return create.run(world, draw)
    const id = world.ids.next("session")
    const left = fromLeft ? draw.one(seen.session.history.left).segment : undefined
    const sourceID = seen.session.id
    const { items } = await world.oracle.history(sourceID, { left, take: "start", limit: 1000 })
    const messageID = items.length > 0 && draw.chance(50) ? draw.one(items).message.id : undefined
    const { projectID, directory, ...fields } = sampleSession(id, draw, world.clock.now())
    const parentID = draw.chance(15) ? draw.one(world.live) : undefined
    const place = draw.chance(30) ? { projectID, directory } : {}
    const answer = await commit(world, [
      {
        op: "session.fork",
        sourceID,
        messageID,
        left,
        session: { ...fields, ...place, parentID },
        segment: world.ids.next("segment"),
        tail: draw.chance(25) ? cutCopy(world, draw, seen) : undefined,
      },
    ])
    if ("value" in answer) world.live.push(id)
  },
}

/** A pending revert; in some cases at a part. */
function drawMark(seen: Seen, draw: Draw): NonNullable<Session["revert"]> {
  const item = draw.one(seen.items)
  const partID = item.parts.length > 0 && draw.chance(40) ? draw.one(item.parts).id : undefined
  return { messageID: item.message.id, partID, snapshot: "abc", diff: "-a\n+b" }
}

const revert: Step = {
  weight: 5,
  async run(world, draw) {
    const seen = await drawSession(world, draw, ({ items }) => items.length > 0)
    if (!seen) return create.run(world, draw)
    const set = { revert: drawMark(seen, draw) }
    await commit(world, [{ op: "session.patch", sessionID: seen.session.id, set }])
  },
}

const unrevert: Step = {
  weight: 3,
  async run(world, draw) {
    const seen = await drawSession(world, draw, ({ session }) => session.revert !== undefined)
    if (!seen) return revert.run(world, draw)
    await commit(world, [{ op: "session.patch", sessionID: seen.session.id, set: { revert: null } }])
  },
}

/** The pending revert, unless a dropped attempt removed the part that it names. */
function presentMark({ session, items }: Pick<Seen, "session" | "items">): Session["revert"] {
  const { revert } = session
  if (revert?.partID === undefined) return revert
  const marked = items.find(({ message }) => message.id === revert.messageID)
  return marked?.parts.some(({ id }) => id === revert.partID) ? revert : undefined
}

/** Commits the pending revert; or, as a caller may, moves the history without one. */
const move: Step = {
  weight: 9,
  async run(world, draw) {
    const marked = draw.chance(60)
    const seen = await drawSession(
      world,
      draw,
      ({ session, items, open }) =>
        items.length > 0 && (!open || draw.chance(10)) && (!marked || session.revert !== undefined),
    )
    if (!seen) return revert.run(world, draw)
    const mark = presentMark(seen)
    const plan = mark
      ? revertPlan(seen.items, mark, { newID: (kind) => world.ids.next(kind) })
      : {
          messageID: draw.one(seen.items).message.id,
          tail: draw.chance(40) ? cutCopy(world, draw, seen) : undefined,
        }
    const segment = world.ids.next("segment")
    await commitRun(world, seen.session.id, [
      { op: "history.move", sessionID: seen.session.id, segment, ...plan },
    ])
  },
}

export const sessionSteps: Steps = { create, patch, fork, revert, unrevert, move }
