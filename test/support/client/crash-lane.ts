import { join } from "node:path"
import { type Client, createClient, type Replica } from "../../../src/client/index.ts"
import { createID, openStore, type Store } from "../../../src/index.ts"
import { type Child, startChild } from "../child-process.ts"
import { drawFrom } from "../draw.ts"
import { until } from "../run-scene.ts"
import { randomFrom } from "../seed.ts"
import { type CuttingProxy, cuttingProxy } from "./cutting-proxy.ts"
import { EventReader } from "./event-reader.ts"
import type { ServeGo, ServeProgress } from "./server-child.ts"
import { expectSame } from "./session-state.ts"
import { Story } from "./story.ts"
import { makeStory, storyPaths } from "./story-scene.ts"
import { Witness } from "./witness.ts"

const token = "a-token-for-the-crash-lane"
const reconnect = { firstMs: 15, maxMs: 150 }
/** The maximum time between two kills. */
const lifeMaxMs = 900

export interface ReplicaCrashOptions {
  directory: string
  kills: number
  sessions: number
  seed: number
  /** The lane continues until the bad connection was cut more often than this. */
  cutsMin: number
}

export interface ReplicaCrashReport {
  kills: number
  cuts: number
  /** How often the witnesses checked a replica. */
  looks: number
  messages: number
  /** Sessions that were compared at the end, with forks and children. */
  sessions: number
}

/**
 * Kills one server after another while its sessions are used, and follows the sessions with clients: one is
 * disconnected by the kills alone, one also has a bad connection, and at the end one is never disconnected.
 */
export async function replicaCrashLane(options: ReplicaCrashOptions): Promise<ReplicaCrashReport> {
  await makeStory(options.directory)
  await using lane = new Lane(options)
  return await lane.run()
}

interface Followed {
  id: string
  story: Story
  replicas: Record<string, Replica>
  witnesses: Witness[]
  listener: EventReader
}

class Lane implements AsyncDisposable {
  readonly #options: ReplicaCrashOptions
  readonly #random: () => number
  readonly #children = new Set<Child>()
  readonly #resources = new AsyncDisposableStack()
  #started = 0
  #port = 0
  #isOver = false

  constructor(options: ReplicaCrashOptions) {
    this.#options = options
    this.#random = randomFrom(options.seed)
  }

  async run(): Promise<ReplicaCrashReport> {
    let child = await this.#serve(this.#startChild())
    const proxy = this.#resources.use(
      await cuttingProxy({ port: this.#port, random: this.#random, bytesMax: 12_000 }),
    )
    const direct = createClient({ baseUrl: `http://127.0.0.1:${this.#port}`, token, reconnect })
    const rough = createClient({ baseUrl: proxy.url, token, reconnect })
    const followed = await Promise.all(
      Array.from({ length: this.#options.sessions }, () => this.#follow(direct, rough)),
    )
    const playing = followed.map(({ story }, index) => this.#play(story, this.#options.seed + index + 1))
    for (let kill = 0; kill < this.#options.kills; kill++) {
      const next = this.#startChild()
      await next.ready
      await pause(this.#random() * lifeMaxMs)
      await this.#kill(child)
      child = await this.#serve(next)
    }
    return await this.#settle({ direct, proxy, followed, playing })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#resources.disposeAsync()
    for (const child of [...this.#children]) await this.#kill(child)
  }

  async #follow(direct: Client, rough: Client): Promise<Followed> {
    const id = createID("session", Date.now())
    await direct.sessions.create({ id })
    const replicas = { killed: direct.session(id).replica(), cut: rough.session(id).replica({ last: 30 }) }
    const witnesses = Object.entries(replicas).map(([name, replica]) => new Witness(name, replica))
    for (const replica of Object.values(replicas)) this.#resources.use(replica)
    const events = rough.session(id).events()
    const listener = this.#resources.use(new EventReader(events))
    await events.ready
    return { id, story: new Story(direct, id), replicas, witnesses, listener }
  }

  /** Runs until all kills are done. */
  async #play(story: Story, seed: number): Promise<void> {
    const random = randomFrom(seed)
    while (!this.#isOver) {
      await story.step(drawFrom(Array.from({ length: 8 }, () => Math.floor(random() * 10_000))))
      await pause(random() * 60)
    }
  }

  async #settle({
    direct,
    proxy,
    followed,
    playing,
  }: {
    direct: Client
    proxy: CuttingProxy
    followed: Followed[]
    playing: Promise<void>[]
  }): Promise<ReplicaCrashReport> {
    const calm = followed.map(({ id }) => this.#resources.use(direct.session(id).replica({ last: 1000 })))
    await pause(lifeMaxMs)
    await until("the line was cut often enough", () => proxy.cuts > this.#options.cutsMin)
    this.#isOver = true
    await Promise.all(playing)
    const report = { kills: this.#options.kills, cuts: proxy.cuts, looks: 0, messages: 0, sessions: 0 }
    proxy.stop()
    await using store = await openStore({ path: storyPaths(this.#options.directory).database })
    for (const [index, { id, story, replicas, witnesses, listener }] of followed.entries()) {
      try {
        await story.end()
        for (const replica of Object.values(replicas)) await replica.loadOlder(1000)
        await expectSame(store, id, { ...replicas, calm: calm[index]! })
        for (const witness of witnesses) await witness.check(store, id)
        await listener.check(store, id)
        report.sessions += await this.#compareRest(store, { direct, story, id })
      } catch (error) {
        throw new Error(`${story.trace.join(", ")}: ${(error as Error).message}`, { cause: error })
      }
      report.looks += witnesses.reduce((sum, { looks }) => sum + looks, 0)
      report.messages += calm[index]!.messages().length
    }
    return report
  }

  /** Children and forks: a replica that starts now has the state of the store. */
  async #compareRest(
    store: Store,
    { direct, story, id }: { direct: Client; story: Story; id: string },
  ): Promise<number> {
    const ids = [...(await direct.session(id).tree()).map((session) => session.id), ...story.forks]
    for (const one of ids) {
      await new Story(direct, one).end()
      using replica = direct.session(one).replica({ last: 1000 })
      await expectSame(store, one, { replica })
    }
    return ids.length
  }

  #startChild(): Child {
    const { directory } = this.#options
    const output = join(directory, `child-${this.#started++}`)
    const child = startChild("../client/server-child.ts", {
      output,
      limitMs: 600_000,
    })
    this.#children.add(child)
    return child
  }

  async #serve(child: Child): Promise<Child> {
    await child.ready
    const listening = new Promise<number>((resolve, reject) => {
      child.process.on("message", (said: ServeProgress) => {
        if (typeof said === "object") resolve(said.port)
      })
      child.ended.then(() => reject(new Error(`A server ended by itself: ${child.errors()}`)), reject)
    })
    child.process.send({ root: this.#options.directory, port: this.#port, token } satisfies ServeGo)
    this.#port = await listening
    return child
  }

  async #kill(child: Child): Promise<void> {
    child.process.kill("SIGKILL")
    await child.ended
    this.#children.delete(child)
    if (child.errors() !== "") throw new Error(`A server complained: ${child.errors()}`)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
