import type { InboxItem, PermissionRequest, Todo } from "../../../src/protocol/index.ts"
import type { Draw } from "../draw.ts"
import { sampleText, sampleUser } from "../samples.ts"
import { call, commit, commitRun, drawSession, type World } from "../world.ts"
import { sessionSteps } from "./session-steps.ts"
import type { Step, Steps } from "./step.ts"

const makeSession = (world: World, draw: Draw) => sessionSteps.create!.run(world, draw)

const note: Step = {
  weight: 6,
  async run(world, draw) {
    const seen = await drawSession(world, draw, ({ items }) => items[0]?.sealed === true)
    if (!seen) return makeSession(world, draw)
    await commit(world, [
      {
        op: "note.put",
        sessionID: seen.session.id,
        messageID: draw.one(seen.items.filter((item) => item.sealed)).message.id,
        key: draw.one(["summary", "diff.files"]),
        value: draw.one([{ title: "beta" }, { title: "gamma", diffs: [] }, null, "text", 7]),
      },
    ])
  },
}

const todos: Step = {
  weight: 3,
  async run(world, draw) {
    if (world.live.length === 0) return makeSession(world, draw)
    const list: Todo[] = ["a", "b", "c"].slice(0, draw.below(4)).map((id) => ({
      id,
      content: sampleText(draw),
      status: draw.one(["pending", "in_progress", "completed"]),
      priority: "medium",
    }))
    await commit(world, [{ op: "todos.put", sessionID: draw.one(world.live), todos: list }])
  },
}

const permission: Step = {
  weight: 4,
  async run(world, draw) {
    if (world.live.length === 0) return makeSession(world, draw)
    const sessionID = draw.one(world.live)
    const created = world.clock.now()
    const asked = draw.chance(50) ? await world.oracle.permissions({ sessionID }) : []
    const request: PermissionRequest =
      asked.length > 0
        ? { ...draw.one(asked), reply: draw.one(["once", "reject"]), feedback: sampleText(draw) }
        : {
            id: world.ids.next("permission"),
            sessionID,
            permission: "edit",
            patterns: ["src/*"],
            always: ["src/*"],
            metadata: { tool: "edit" },
            time: { created },
          }
    await commit(world, [{ op: "permission.put", request }])
  },
}

export function samplePrompt(world: World, draw: Draw, sessionID: string): InboxItem {
  const time = world.clock.now()
  const id = world.ids.next("message")
  return draw.one<InboxItem>([
    {
      id,
      sessionID,
      time,
      type: "prompt",
      delivery: draw.one(["steer", "queue"]),
      message: sampleUser(id, time),
      parts: [{ id: world.ids.next("part"), type: "text", text: sampleText(draw) }],
    },
    { id: `abort:${id}`, sessionID, time, type: "abort", reason: sampleText(draw) },
    { id: `compact.${id}`, sessionID, time, type: "compact" },
  ])
}

/** A new item, or an old one again: unchanged, at another time, or with another payload under its id. */
const admit: Step = {
  weight: 8,
  async run(world, draw) {
    if (world.live.length === 0) return makeSession(world, draw)
    const again = world.admitted.length > 0 && draw.chance(35)
    let item = again ? draw.one(world.admitted) : samplePrompt(world, draw, draw.one(world.live))
    if (again && draw.chance(40)) item = { ...item, time: item.time + 5 }
    if (again && item.type === "abort" && draw.chance(50)) item = { ...item, reason: "another one" }
    const answer = await call(world, "admit", item)
    if ("value" in answer && !again) world.admitted.push(item)
  },
}

/** Takes an item in one commit with the message that it becomes; now and then an item that does not exist. */
const take: Step = {
  weight: 8,
  async run(world, draw) {
    const waiting = new Set<string>()
    for (const id of world.live) if ((await world.oracle.inbox(id)).length > 0) waiting.add(id)
    const again = draw.chance(15)
    const seen = await drawSession(
      world,
      draw,
      ({ open, session }) => !open && !session.revert && (again || waiting.has(session.id)),
    )
    if (!seen) return admit.run(world, draw)
    const sessionID = seen.session.id
    const items = again
      ? world.admitted.filter((item) => item.sessionID === sessionID)
      : await world.oracle.inbox(sessionID)
    if (items.length === 0) return admit.run(world, draw)
    const item = draw.one(items)
    const becomes =
      item.type === "prompt"
        ? [
            {
              op: "message.append" as const,
              sessionID,
              message: item.message,
              parts: item.parts,
              sealed: true,
            },
          ]
        : []
    await commitRun(world, sessionID, [{ op: "inbox.take", sessionID, itemID: item.id }, ...becomes])
  },
}

const claim: Step = {
  weight: 5,
  async run(world, draw) {
    if (world.live.length === 0) return makeSession(world, draw)
    const sessionID = draw.one(world.live)
    const answer = await call(world, "claim", sessionID)
    if ("value" in answer) world.leases.set(sessionID, answer.value)
  },
}

const renew: Step = {
  weight: 2,
  async run(world, draw) {
    const leases = [...world.leases.values()]
    if (leases.length === 0) return claim.run(world, draw)
    const answer = await call(world, "renew", draw.one(leases))
    if ("value" in answer) world.leases.set(answer.value.sessionID, answer.value)
  },
}

/** Releases a lease; a lease with another fence cannot be released. */
const release: Step = {
  weight: 4,
  async run(world, draw) {
    const leases = [...world.leases.values()]
    if (leases.length === 0) return claim.run(world, draw)
    const lease = draw.one(leases)
    if (draw.chance(15)) {
      await call(world, "release", { ...lease, fence: lease.fence + 1 })
      return
    }
    await call(world, "release", lease)
    world.leases.set(lease.sessionID, { ...lease, expiresAt: 0 })
  },
}

export const besideSteps: Steps = { note, todos, permission, admit, take, claim, renew, release }
