import type { PartBody } from "../../../src/protocol/index.ts"
import { growingField, grownText } from "../../../src/session/replica/grow.ts"
import type { Op } from "../../../src/stores/commit.ts"
import type { Draw } from "../draw.ts"
import { bodyOfMessage, bodyOfPart, sampleSession, sampleUser } from "../samples.ts"
import { ask, call, commit, commitRun, drawSession, fenceOf, look, type Seen, type World } from "../world.ts"
import type { Step, Steps } from "./step.ts"

/** A call with one flaw. Every store must return the same error, and nothing may change. */
type Flaw = (world: World, draw: Draw, seen: Seen) => Promise<unknown>

const text = (world: World): PartBody => ({ id: world.ids.next("part"), type: "text", text: "flawed" })

const unknownSession: Flaw = (world, draw) => {
  const id = draw.one(["ses_unknown", ...world.removed, ...world.importing])
  return draw.one<() => Promise<unknown>>([
    () => call(world, "session", id),
    () => call(world, "history", id),
    () => call(world, "todos", id),
    () => call(world, "inbox", id),
    () => call(world, "permissions", { sessionID: id }),
    () => call(world, "claim", id),
    () => call(world, "remove", id),
    () => call(world, "redact", { sessionID: id }),
    () => commit(world, [{ op: "session.patch", sessionID: id, set: { title: "flawed" } }]),
    () => commit(world, [{ op: "todos.put", sessionID: id, todos: [] }]),
    () => call(world, "admit", { id: "abort:1", sessionID: id, time: 1, type: "abort" }),
  ])()
}

const unknownMessage: Flaw = (world, draw, { session }) => {
  const sessionID = session.id
  const messageID = "msg_unknown"
  return draw.one<() => Promise<unknown>>([
    () => call(world, "history", sessionID, { messageID }),
    () => call(world, "redact", { sessionID, messageID }),
    () => commit(world, [{ op: "note.put", sessionID, messageID, key: "a", value: 1 }]),
    () => commit(world, [{ op: "session.patch", sessionID, set: { revert: { messageID } } }]),
    () => commitRun(world, sessionID, [{ op: "part.put", sessionID, messageID, part: text(world) }]),
    () => commitRun(world, sessionID, [{ op: "message.seal", sessionID, messageID }]),
    () => commit(world, [forkOp(world, sessionID, { messageID })]),
  ])()
}

function forkOp(
  world: World,
  sourceID: string,
  rest: { messageID?: string; left?: string; segment?: string },
): Op {
  const session = {
    id: world.ids.next("session"),
    title: "flawed",
    version: "0",
    time: { created: 1, updated: 1 },
  }
  return { op: "session.fork", sourceID, session, segment: world.ids.next("segment"), ...rest }
}

/** A segment that the history never left: another session's, its own, or an unknown one. */
const foreignSegment: Flaw = async (world, draw, { session }) => {
  const others = await Promise.all(
    world.live.map(async (id) => (await look(world, id)).session.history.segment),
  )
  const left = draw.one(["seg_unknown", session.history.segment, ...others])
  if (draw.chance(50)) return call(world, "history", session.id, { left })
  return commit(world, [forkOp(world, session.id, { left })])
}

const usedSegment: Flaw = (world, draw, { session, items }) => {
  const segment = session.history.segment
  if (draw.chance(50) || items.length === 0) return commit(world, [forkOp(world, session.id, { segment })])
  const messageID = items[0]!.message.id
  return commitRun(world, session.id, [{ op: "history.move", sessionID: session.id, segment, messageID }])
}

const usedSession: Flaw = (world, draw, { session }) => {
  const id = draw.one([session.id, ...world.removed])
  const fresh = sampleSession(id, draw, world.clock.now())
  return commit(world, [
    { op: "session.create", session: { ...fresh, key: undefined }, segment: world.ids.next("segment") },
  ])
}

const unknownParent: Flaw = (world, draw) => {
  const parentID = draw.one(["ses_unknown", ...world.removed, ...world.importing])
  const session = {
    ...sampleSession(world.ids.next("session"), draw, world.clock.now()),
    key: undefined,
    parentID,
  }
  return commit(world, [{ op: "session.create", session, segment: world.ids.next("segment") }])
}

const wrongFence: Flaw = async (world, draw, { session, open }) => {
  const sessionID = session.id
  const fences = await fenceOf(world, sessionID)
  const wrong = (fences[sessionID] ?? 0) + draw.one([1, 100])
  const op: Op = open
    ? { op: "part.truncate", sessionID, messageID: open.message.id, keep: 99 }
    : { op: "message.append", sessionID, message: sampleUser(world.ids.next("message"), 1), sealed: true }
  return commit(world, [op], draw.chance(50) ? {} : { fences: { [sessionID]: wrong } })
}

/** A change that needs no fence, refused because its fence is not the current one. */
const lostLease: Flaw = async (world, draw, { session }) => {
  const known = world.leases.get(session.id)
  if (!known) return
  const fences = { [session.id]: draw.chance(50) ? known.fence : known.fence + 1 }
  return commit(world, [{ op: "session.patch", sessionID: session.id, set: { title: "flawed" } }], { fences })
}

const wrongSeq: Flaw = (world, draw, { session }) => {
  const expectSeq = { [session.id]: session.seq + draw.one([0, 1, 5]) }
  return commit(world, [{ op: "session.patch", sessionID: session.id, set: { title: "alpha" } }], {
    expectSeq,
  })
}

const sealedMessage: Flaw = (world, draw, { session, items }) => {
  const sessionID = session.id
  const sealed = items.filter((item) => item.sealed)
  if (sealed.length === 0) return Promise.resolve()
  const item = draw.one(sealed)
  const messageID = item.message.id
  return commitRun(world, sessionID, [
    draw.one<Op>([
      { op: "part.put", sessionID, messageID, part: text(world) },
      { op: "part.truncate", sessionID, messageID, keep: 0 },
      { op: "message.put", sessionID, message: bodyOfMessage(item.message) },
      { op: "message.seal", sessionID, messageID },
      {
        op: "piece.add",
        sessionID,
        messageID,
        partID: item.parts[0]?.id ?? "prt_x",
        field: "text",
        offset: 0,
        text: "a",
      },
      { op: "message.append", sessionID, message: { ...sampleUser(messageID, 1) }, sealed: true },
    ]),
  ])
}

const badPart: Flaw = (world, draw, { session, open }) => {
  if (!open || open.parts.length === 0) return Promise.resolve()
  const sessionID = session.id
  const messageID = open.message.id
  const part = bodyOfPart(draw.one(open.parts))
  const field = growingField(part)
  const wrongField = field === "raw" ? "output" : "raw"
  const offset = grownText(part).length
  const add = { op: "piece.add" as const, sessionID, messageID, partID: part.id, text: "flawed" }
  return commitRun(world, sessionID, [
    draw.one<Op>([
      { ...add, field: field ?? "text", offset: offset + 1 + draw.below(3) },
      { ...add, field: field ?? "text", offset: Math.max(offset - 1, 0) },
      { ...add, field: wrongField, offset },
      { ...add, field: field ?? "text", offset, partID: "prt_unknown" },
      { op: "part.put", sessionID, messageID, part: { id: part.id, type: "agent", name: "explore" } },
      {
        op: "part.put",
        sessionID,
        messageID,
        part: { id: part.id, type: "text", text: "flawed" },
        grown: "keep",
      },
    ]),
  ])
}

/** All or nothing: the first operation alone would have succeeded. */
const halfCommit: Flaw = (world, draw, { session }) => {
  const sessionID = session.id
  const works = draw.one<Op>([
    { op: "session.patch", sessionID, set: { title: "half a commit" }, add: { cost: 5 } },
    { op: "todos.put", sessionID, todos: [] },
    forkOp(world, sessionID, {}),
    {
      op: "session.create",
      session: { ...sampleSession(world.ids.next("session"), draw, 1), key: undefined },
      segment: world.ids.next("segment"),
    },
  ])
  return commit(world, [works, { op: "session.patch", sessionID: "ses_unknown", set: { title: "alpha" } }])
}

const malformed: Flaw = (world, draw, { session }) => {
  const calls: [string, Parameters<typeof ask>[2]][] = [
    ["a commit without operations", (store) => store.commit({ ops: [] })],
    ["an unknown operation", (store) => store.commit({ ops: [{ op: "session.rename" } as unknown as Op] })],
    ["a bad id", (store) => store.commit({ ops: [{ op: "session.publish", sessionID: "nonsense" }] })],
    ["a limit of 0", (store) => store.sessions({ limit: 0 })],
    ["a limit of 1001", (store) => store.history(session.id, { limit: 1001 })],
    ["a search limit of 201", (store) => store.search({ text: "alpha", limit: 201 })],
    ["a cursor of nowhere", (store) => store.changes({ sessionID: session.id }, "nonsense")],
    ["a page cursor of nowhere", (store) => store.sessions({ cursor: "nonsense" })],
    ["a search cursor of nowhere", (store) => store.search({ text: "alpha", cursor: "nonsense" })],
    ["a blob of nowhere", (store) => store.blobs.get("0".repeat(64))],
    [
      "publishing what is public",
      (store) => store.commit({ ops: [{ op: "session.publish", sessionID: session.id }] }),
    ],
    ["an unknown scope", (store) => store.changes({ sessionID: "ses_unknown" })],
  ]
  const [label, run] = draw.one(calls)
  return ask(world, label, run)
}

const takeNothing: Flaw = (world, _draw, { session }) =>
  commitRun(world, session.id, [{ op: "inbox.take", sessionID: session.id, itemID: "nothing" }])

const unsealedNote: Flaw = async (world, _draw, { session, open }) => {
  if (!open) return
  const messageID = open.message.id
  return commit(world, [{ op: "note.put", sessionID: session.id, messageID, key: "a", value: 1 }])
}

const flaws: Flaw[] = [
  unknownSession,
  unknownMessage,
  foreignSegment,
  usedSegment,
  usedSession,
  unknownParent,
  wrongFence,
  lostLease,
  wrongSeq,
  sealedMessage,
  badPart,
  badPart,
  halfCommit,
  malformed,
  takeNothing,
  unsealedNote,
]

const wrong: Step = {
  weight: 18,
  async run(world, draw) {
    const flaw = draw.one(flaws)
    const needsPart = flaw === badPart || flaw === unsealedNote
    const seen = await drawSession(world, draw, ({ open }) => !needsPart || (open?.parts.length ?? 0) > 0)
    if (seen) await flaw(world, draw, seen)
  },
}

export const wrongSteps: Steps = { wrong }
