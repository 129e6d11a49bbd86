import { createOpencodeClient, type Event, type OpencodeClient } from "@opencode-ai/sdk/v2"
import type { Route } from "../../../src/protocol/routes/index.ts"
import { createServer, type ServerOptions, type StemmaServer } from "../../../src/server/index.ts"
import { opencodeRoutes } from "../../../src/server/opencode/index.ts"
import { WireEvent } from "../../../src/server/opencode/wire/wire-event.ts"
import { type RunScene, type RunSceneOptions, runScene, until } from "../run-scene.ts"
import { expectShape } from "./expect-shape.ts"

export const token = "a-token-for-tests-0123456789"
export const bearer = { authorization: `Bearer ${token}` }
export const basic = {
  authorization: `Basic ${Buffer.from(`opencode:${token}`).toString("base64")}`,
}

export interface OpencodeScene extends RunScene {
  server: StemmaServer
  url: string
  /** The real client; every answer is checked against the shapes of the route table. */
  client: OpencodeClient
  /** Opens another client. */
  connect(options?: Parameters<typeof createOpencodeClient>[0]): OpencodeClient
  /** The routes that were called, such as `session.list`. */
  called: Set<string>
}

/** A server with a scripted model, and the real client of OpenCode. */
export async function opencodeScene(
  options: RunSceneOptions & { server?: ServerOptions } = {},
): Promise<OpencodeScene> {
  const { server: serverOptions, ...rest } = options
  const scene = await runScene(rest)
  const server = createServer(scene.stemma, {
    token,
    drainMs: 0,
    onWarning: (error) => scene.warnings.push(error),
    ...serverOptions,
  })
  const { url } = await server.listen({ port: 0 })
  const called = new Set<string>()
  const connect: OpencodeScene["connect"] = (more = {}) =>
    createOpencodeClient({
      baseUrl: url,
      headers: bearer,
      fetch: (async (request: Request) => checked(request, called)) as typeof fetch,
      ...more,
    })
  return {
    ...scene,
    server,
    url,
    client: connect(),
    connect,
    called,
    async [Symbol.asyncDispose]() {
      await server.close()
      await scene[Symbol.asyncDispose]()
    },
  }
}

const routes = Object.entries(opencodeRoutes).flatMap(([group, table]) =>
  Object.entries<Route>(table).map(([name, route]) => ({ name: `${group}.${name}`, route })),
)

export const routeNames = routes.map(({ name }) => name)

async function checked(request: Request, called: Set<string>): Promise<Response> {
  const { pathname } = new URL(request.url)
  const found = routes.find(
    ({ route }) =>
      route.method === request.method &&
      new RegExp(`^${route.path.replace(/:\w+/g, "[^/]+")}$`).test(pathname),
  )
  if (!found) throw new Error(`No route for ${request.method} ${pathname}`)
  const response = await fetch(request)
  called.add(found.name)
  if (!response.ok || found.route.answer === undefined) return response
  expectShape(found.route.answer, await response.clone().json(), `the answer of ${found.name}`)
  return response
}

export interface Watched extends Disposable {
  events: Event[]
  /** Waits for the first event of a type that also passes the given check. */
  next<T extends Event["type"]>(
    type: T,
    passes?: (event: Extract<Event, { type: T }>) => boolean,
  ): Promise<Extract<Event, { type: T }>>
}

/** Reads `event.subscribe` until it is disposed of. Resolves when the server has sent `server.connected`. */
export async function watch(
  client: OpencodeClient,
  parameters: { directory?: string } = {},
  options: { onEventID?: (id: string) => void } = {},
): Promise<Watched> {
  const over = new AbortController()
  const { stream } = await client.event.subscribe(parameters, {
    signal: over.signal,
    sseMaxRetryDelay: 20,
    onSseEvent: ({ id }) => {
      if (id !== undefined) options.onEventID?.(id)
    },
  })
  const events: Event[] = []
  const reading = (async () => {
    for await (const event of stream) {
      events.push(event as Event)
      expectShape(WireEvent, event, `an event ${event.type}`)
    }
  })()
  let failure: unknown
  reading.catch((error) => {
    if (!over.signal.aborted) failure = error
  })
  const watched: Watched = {
    events,
    async next(type, passes = () => true) {
      const find = () =>
        events.find((event) => event.type === type && passes(event as never)) as
          | Extract<Event, { type: typeof type }>
          | undefined
      await until(`there is an event ${type}`, () => {
        if (failure !== undefined) throw failure
        return find() !== undefined
      })
      return find()!
    },
    [Symbol.dispose]: () => over.abort(),
  }
  await watched.next("server.connected")
  return watched
}

/** The data of a call; fails with the server's error if the call was refused. */
export async function data<T>(call: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data: given, error } = await call
  if (error !== undefined) throw new Error(`The call was refused: ${JSON.stringify(error)}`)
  return given as T
}
