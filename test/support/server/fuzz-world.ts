import { readdirSync } from "node:fs"
import { join } from "node:path"
import type { Row, ScriptedAnswer } from "../../../src/index.ts"
import { until } from "../run-scene.ts"
import type { FuzzRequest } from "./fuzz-requests.ts"
import { type MarkerKind, markers } from "./fuzz-values.ts"
import { type HttpScene, httpScene, token } from "./http-scene.ts"

/** Values that no answer may contain. */
export const secrets = {
  token,
  environment: "sk-planted-in-the-environment-4711",
  password: "planted-password-of-a-database",
  config: "sk-planted-in-the-config-4711",
}

export interface Fingerprint {
  cursor: string
  files: string
}

/** A server with some sessions, an open question, blobs and a share, and the known values of each kind. */
export interface FuzzWorld extends HttpScene {
  /** Replaces markers by current values. */
  resolve(request: FuzzRequest): FuzzRequest
  /** Waits until the work that a request started is over, or waits for a person, and updates the known values. */
  settle(request?: FuzzRequest): Promise<void>
  /** Resolves with false after a moment in which nothing ran, except work that waits for a person. */
  isIdle(): Promise<false>
  /** State that a refused request must not change: each commit moves the cursor. */
  fingerprint(): Promise<Fingerprint>
  /** The change since then; undefined if there is none. */
  changeSince(before: Fingerprint, request: FuzzRequest): Promise<string | undefined>
}

export async function fuzzWorld(): Promise<FuzzWorld> {
  const scene = await httpScene({
    script: answer,
    files: { "a.txt": "one\n", "below/b.txt": "two\n" },
    env: {
      PATH: process.env.PATH,
      OLLAMA_HOST: "127.0.0.1:1",
      OPENAI_API_KEY: secrets.environment,
      DATABASE_PASSWORD: secrets.password,
    },
    // Snapshots store file changes some time after a run has ended.
    snapshots: false,
    fetch: () => Promise.reject(new Error("no request leaves a test")),
    config: {
      permission: { edit: "ask", bash: "allow" },
      provider: {
        planted: {
          npm: "@ai-sdk/openai-compatible",
          options: { apiKey: secrets.config, baseURL: "http://127.0.0.1:1/v1" },
          models: { m: {} },
        },
      },
      command: { hello: { template: "Say hello to $ARGUMENTS" } },
    },
    server: { interactive: true, onWarning: (error) => failures.push(error) },
  })
  const failures: unknown[] = []
  const known: Record<MarkerKind, string[]> = {
    session: [],
    message: [],
    part: [],
    permission: [],
    blob: [],
    cursor: [],
    secret: [],
    directory: [
      scene.directory,
      join(scene.directory, "below"),
      join(scene.directory, "nowhere"),
      join(scene.directory, "a.txt"),
      "relative",
      join(scene.directory, ".."),
      "/",
    ],
  }
  const world: FuzzWorld = {
    ...scene,
    resolve: (request) => resolveMarkers(request, known),
    async settle(request) {
      await quiet(scene, known.session)
      // The end of a question is stored in more than one step.
      if (request && /abort|permission|question/.test(request.template)) await world.isIdle()
      await lookAround(scene, known)
      if (failures.length > 0) throw new Error("The server warned.", { cause: failures.splice(0) })
    },
    async isIdle() {
      const endMs = performance.now() + 5000
      for (
        let times = 0;
        times < 3 && performance.now() < endMs;
        times = (await isQuiet(scene, known.session)) ? times + 1 : 0
      ) {
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      return false
    },
    async fingerprint() {
      const files = [scene.directory, join(scene.data, "stemma.db-blobs")].map((path) =>
        readdirSync(path, { recursive: true }).sort().join("|"),
      )
      return { cursor: await scene.stemma.store.cursor(), files: files.join("\n") }
    },
    async changeSince(before, request) {
      const now = await world.fingerprint()
      if (now.files !== before.files) return `There are other files: ${before.files}, then ${now.files}`
      if (now.cursor === before.cursor) return undefined
      const sessionID = /ses_[0-9A-Za-z_-]+/.exec(request.path)?.[0]
      if (!sessionID || !known.session.includes(sessionID)) return "Something was stored."
      const { rows } = await scene.stemma.store.changes({ sessionID }, before.cursor)
      const rest = rows.filter((row) => !isOfRefusedCompaction(row, request))
      return rest.length === 0 && rows.length > 0 ? undefined : JSON.stringify(rest)
    },
  }
  await world.settle()
  return world
}

/** A request to compact is stored before it is known that there is nothing to compact, and then removed. */
function isOfRefusedCompaction(row: Row, { template }: FuzzRequest): boolean {
  if (!/\/(compact|summarize)$/.test(template)) return false
  return row.type === "inbox" && row.items.length === 0
}

/** Answers quickly. A prompt with "Please write" leads to a question for a person. */
function answer(request: { messages: readonly unknown[] }, n: number): ScriptedAnswer {
  const last = JSON.stringify(request.messages.at(-1))
  if (last.includes("Please write"))
    return { calls: [{ tool: "write", input: { filePath: `w${n}.txt`, content: "w" } }] }
  return { text: "Yes." }
}

/** True if nothing runs except work that waits for a person, and the inboxes are empty. */
async function isQuiet({ stemma }: HttpScene, known: readonly string[]): Promise<boolean> {
  const { store, sessions, permissions } = stemma
  const waiting = new Set<string>()
  for (const { path = [], sessionID } of await permissions.open()) {
    const inbox = await store.inbox(sessionID)
    const goesOn = inbox.some(({ type }) => type === "answer" || type === "abort")
    if (!goesOn) for (const id of [...path, sessionID]) waiting.add(id)
  }
  const recent = (await sessions.list({ limit: 8 })).items.map(({ id }) => id)
  for (const id of new Set([...recent, ...known])) {
    // The session may be removed by now.
    const inbox = await store.inbox(id).catch(() => [])
    if (!waiting.has(id) && inbox.length > 0) return false
  }
  return stemma
    .statuses()
    .keys()
    .every((id) => waiting.has(id))
}

const quiet = (scene: HttpScene, known: readonly string[]) =>
  until("nothing runs", () => isQuiet(scene, known))

const sessionsMin = 4

async function lookAround(scene: HttpScene, known: Record<MarkerKind, string[]>): Promise<void> {
  const { sessions, permissions, store } = scene.stemma
  while ((await sessions.list({ limit: sessionsMin })).items.length < sessionsMin) {
    const session = await sessions.create({ title: "A session" })
    await session.prompt("Hello")
  }
  if ((await permissions.open()).length === 0) {
    // A request may have answered a question with "always".
    for (const { id } of await permissions.granted()) await permissions.revoke(id)
    const session = await sessions.create({ title: "A question" })
    session.prompt("Please write").admitted.catch(() => {})
    await until("it asks", async () => (await session.questions()).length > 0)
    await quiet(scene, [session.id])
  }
  // A blob is removed with the last message that names it.
  known.blob = [await store.blobs.put(Buffer.from("planted"))]
  const { items } = await sessions.list({ limit: 8, order: "created" })
  known.session = items.map(({ id }) => id)
  known.secret = items.flatMap(({ share }) => share?.secret ?? [])
  const pages = await Promise.all(known.session.slice(0, 4).map((id) => store.history(id, { limit: 2 })))
  const history = pages.flatMap((page) => page.items)
  known.message = history.map(({ message }) => message.id)
  known.part = history.flatMap(({ parts }) => parts.slice(0, 2).map(({ id }) => id))
  known.permission = (await permissions.open()).map(({ id }) => id)
  known.cursor = [await store.cursor()]
}

function resolveMarkers(request: FuzzRequest, known: Record<MarkerKind, string[]>): FuzzRequest {
  const fill = (text: string, write: (value: string) => string) =>
    text.replace(markers, (_, kind: MarkerKind, at: string) => {
      const list = known[kind]
      return write(list[Number(at) % Math.max(1, list.length)] ?? `no-${kind}`)
    })
  return {
    ...request,
    path: fill(request.path, encodeURIComponent),
    query: fill(request.query, encodeURIComponent),
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, text]) => [name, fill(text, String)]),
    ),
    ...(request.body !== undefined && {
      body: fill(request.body, (one) => JSON.stringify(one).slice(1, -1)),
    }),
  }
}
