import type { Op } from "../../../src/stores/commit.ts"
import { answerOf } from "../answers.ts"
import type { Draw } from "../draw.ts"
import { sampleQueries, sampleSession, sampleText } from "../samples.ts"
import { ask, call, commit, drawSession, passTime, type World } from "../world.ts"
import { sealedTurn, sessionSteps } from "./session-steps.ts"
import type { Step, Steps } from "./step.ts"

const makeSession = (world: World, draw: Draw) => sessionSteps.create!.run(world, draw)

const remove: Step = {
  weight: 4,
  async run(world, draw) {
    if (world.live.length === 0) return makeSession(world, draw)
    const answer = await call(world, "remove", draw.one(world.live))
    if (!("value" in answer)) return
    world.live = world.live.filter((id) => !answer.value.sessions.includes(id))
    world.removed.push(...answer.value.sessions)
    for (const id of answer.value.sessions) world.removedAt.set(id, world.clock.now())
    await forgetBlobs(world)
  },
}

/** A blob is removed with the last message that names it. The steps name only blobs that exist. */
async function forgetBlobs(world: World): Promise<void> {
  for (const hash of world.blobs) {
    const answer = await answerOf(() => world.oracle.blobs.size(hash))
    if ("error" in answer) world.blobs.delete(hash)
  }
}

const redact: Step = {
  weight: 4,
  async run(world, draw) {
    const seen = await drawSession(world, draw, ({ items }) => items.length > 0)
    if (!seen) return makeSession(world, draw)
    const item = draw.one(seen.items)
    const what = draw.below(6)
    await call(world, "redact", {
      sessionID: seen.session.id,
      ...(what < 5 ? { messageID: item.message.id } : {}),
      ...(what < 3 && item.parts.length > 0 ? { partID: draw.one(item.parts).id } : {}),
    })
    await forgetBlobs(world)
  },
}

const dayMs = 86_400_000

const collect: Step = {
  weight: 3,
  async run(world, draw) {
    const dryRun = draw.chance(25) ? true : undefined
    await call(world, "collect", {
      dryRun,
      blobAgeMs: draw.one([0, 3_600_000]),
      importAgeMs: draw.one([dayMs, 0]),
    })
    await forgetBlobs(world)
    // The next batch of a collected import finds the import gone and is refused.
    if (draw.chance(30)) world.importing = []
  },
}

const startImport: Step = {
  weight: 5,
  async run(world, draw) {
    const id = world.ids.next("session")
    const created = world.clock.now() - draw.one([0, 3 * dayMs])
    const ops: Op[] = [
      {
        op: "session.create",
        session: { ...sampleSession(id, draw, created), time: { created, updated: created } },
        segment: world.ids.next("segment"),
        importing: true,
      },
      ...sealedTurn(world, draw, id),
    ]
    const answer = await commit(world, ops)
    if ("value" in answer) world.importing.push(id)
    await call(world, "session", id)
    if (draw.chance(50)) await finishImport.run(world, draw)
  },
}

const finishImport: Step = {
  weight: 5,
  async run(world, draw) {
    if (world.importing.length === 0) return makeSession(world, draw)
    const sessionID = draw.one(world.importing)
    const publish = draw.chance(70)
    const ops = sealedTurn(world, draw, sessionID)
    if (publish) ops.push({ op: "session.publish", sessionID })
    const answer = await commit(world, ops)
    if (publish || "error" in answer) world.importing = world.importing.filter((id) => id !== sessionID)
    if (publish && "value" in answer) world.live.push(sessionID)
  },
}

const blob: Step = {
  weight: 3,
  async run(world, draw) {
    const text = draw.one(["one", "two", "a third attachment 配置"])
    const answer = await ask(world, `await store.blobs.put(Buffer.from(${JSON.stringify(text)}))`, (store) =>
      store.blobs.put(new TextEncoder().encode(text)),
    )
    if ("value" in answer) world.blobs.add(answer.value)
  },
}

const wait: Step = {
  weight: 3,
  async run(world, draw) {
    passTime(world, draw.one([1, 400, 2500, 11_000, 2 * 3_600_000, 2 * dayMs, 31 * dayMs]))
  },
}

/** Several commits in one tick, of which one may fail without an effect on the others. */
const burst: Step = {
  weight: 3,
  async run(world, draw) {
    if (world.live.length === 0) return makeSession(world, draw)
    const commits = Array.from({ length: 2 + draw.below(4) }, () => ({
      ops: [
        {
          op: "session.patch" as const,
          sessionID: draw.chance(25) ? "ses_unknown" : draw.one(world.live),
          set: { title: sampleText(draw) },
          add: { cost: 0.1 },
        },
      ],
    }))
    await ask(
      world,
      `await Promise.allSettled(${JSON.stringify(commits)}.map((c) => store.commit(c)))`,
      (store) => Promise.all(commits.map((one) => answerOf(() => store.commit(one)))),
    )
  },
}

const search: Step = {
  weight: 3,
  async run(world, draw) {
    await call(world, "search", {
      text: draw.one([...sampleQueries, '"', "配", "a", "", "* *", "fox quick"]),
      order: draw.one(["newest", "relevance"]),
      kinds: draw.one([undefined, ["title"], ["text", "reasoning"], ["tool"], ["file", "other"]]),
      projectID: draw.one([undefined, "one"]),
      directory: draw.one([undefined, "/project"]),
      sessionID: draw.chance(30) && world.live.length > 0 ? draw.one(world.live) : undefined,
    })
  },
}

const reopen: Step = {
  weight: 4,
  async run(world) {
    world.trace.push("reopen()")
    await world.reopen()
  },
}

export const wholeSteps: Steps = {
  remove,
  redact,
  collect,
  startImport,
  finishImport,
  blob,
  wait,
  burst,
  search,
  reopen,
}
