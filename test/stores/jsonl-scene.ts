import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { AssistantBody, HistoryItem, PartBody, UserBody } from "../../src/protocol/index.ts"
import type { Op } from "../../src/stores/commit.ts"
import { type JsonlStoreOptions, openJsonlStore } from "../../src/stores/jsonl/index.ts"
import type { Store } from "../../src/stores/store.ts"
import { type TemporaryDirectory, temporaryDirectory } from "../support/temporary-directory.ts"

export const nowMs = 1_700_000_000_000
export const sessionID = "ses_one"

/** A jsonl store in its own directory, with access to its files. */
export class JsonlScene implements AsyncDisposable {
  readonly directory: TemporaryDirectory
  readonly warnings: string[] = []
  readonly #stores: Store[] = []

  private constructor(directory: TemporaryDirectory) {
    this.directory = directory
  }

  static async begin(): Promise<JsonlScene> {
    return new JsonlScene(await temporaryDirectory())
  }

  async open(options: Partial<JsonlStoreOptions> = {}): Promise<Store> {
    const onWarning = (warning: string) => void this.warnings.push(warning)
    const store = await openJsonlStore({ directory: this.directory.path, onWarning, ...options })
    this.#stores.push(store)
    return store
  }

  path(name: string): string {
    return join(this.directory.path, name)
  }

  /** The path of a session's main file. */
  main(id = sessionID, agent = "main"): string {
    return this.path(`agents/${agent}/sessions/${id}.jsonl`)
  }

  text(path: string): string {
    return readFileSync(path, "utf8")
  }

  lines(path: string): Record<string, unknown>[] {
    const lines = this.text(path).split("\n")
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  /** Writes a file as a person or another program would. */
  write(path: string, content: string | object[]): void {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, typeof content === "string" ? content : asLines(content))
  }

  append(path: string, content: string | object[]): void {
    appendFileSync(path, typeof content === "string" ? content : asLines(content))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#stores) await store.close()
    await this.directory[Symbol.asyncDispose]()
  }
}

function asLines(values: object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("")
}

export function createOp(id = sessionID, fields: object = {}): Op {
  const time = { created: nowMs, updated: nowMs }
  const session = {
    id,
    projectID: "p",
    directory: "/project",
    title: "A title",
    version: "0.1.0",
    time,
    ...fields,
  }
  return { op: "session.create", session, segment: `seg_${id.slice(4)}` }
}

export function user(name: string, atMs = nowMs): UserBody {
  const model = { providerID: "anthropic", modelID: "claude" }
  return { id: `msg_${name}`, role: "user", time: { created: atMs }, agent: "build", model }
}

export function assistant(name: string, fields: Partial<AssistantBody> = {}): AssistantBody {
  return {
    id: `msg_${name}`,
    role: "assistant",
    time: { created: nowMs, completed: nowMs + 1 },
    parentID: "msg_user",
    modelID: "claude",
    providerID: "anthropic",
    agent: "build",
    path: { cwd: "/project", root: "/project" },
    cost: 0.25,
    tokens: { input: 10, output: 20, reasoning: 5, cache: { read: 1, write: 2 } },
    finish: "stop",
    ...fields,
  }
}

export function textPart(name: string, text: string): PartBody {
  return { id: `prt_${name}`, type: "text", text }
}

export function sayOp(name: string, text = name, id = sessionID): Op {
  return {
    op: "message.append",
    sessionID: id,
    message: user(name),
    parts: [textPart(name, text)],
    sealed: true,
  }
}

/** Claims the lease of a session and returns a function that commits with its fence. */
export async function claimed(
  store: Store,
  id = sessionID,
): Promise<(...ops: Op[]) => ReturnType<Store["commit"]>> {
  const { fence } = await store.claim(id)
  return (...ops) => store.commit({ ops, fences: { [id]: fence } })
}

export async function texts(store: Store, id = sessionID, left?: string): Promise<string[]> {
  const { items } = await store.history(id, { limit: 1000, left })
  return items.map(textOf)
}

export function textOf(item: HistoryItem): string {
  return item.parts
    .map((part) => {
      if (part.type === "text" || part.type === "reasoning") return part.text
      if (part.type === "compaction") return `summary: ${part.summary}`
      if (part.type !== "tool") return part.type
      return part.state.status === "completed"
        ? `${part.tool}: ${part.state.output}`
        : `${part.tool}: ${part.state.status}`
    })
    .join(" | ")
}
