import { execFile } from "node:child_process"
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import {
  createScriptedModel,
  type HistoryItem,
  openStemma,
  type Part,
  type PartType,
  type ScriptedAnswer,
  type SessionHandle,
  type Stemma,
  type StemmaOptions,
} from "../../src/index.ts"
import type { ScriptedModel } from "../../src/models/scripted.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

export interface RunScene extends AsyncDisposable {
  stemma: Stemma
  model: ScriptedModel
  /** The project's directory. */
  directory: string
  data: string
  warnings: unknown[]
  /** Opens a second Stemma on the same data. */
  again(options?: StemmaOptions): Promise<Stemma>
}

export interface RunSceneOptions extends StemmaOptions {
  script?: readonly ScriptedAnswer[] | Parameters<typeof createScriptedModel>[0]
  files?: Record<string, string>
  git?: boolean
  price?: { input: number; output: number }
  limit?: { context: number; output: number }
}

/** Short waits. Text does not wait for its commit when a busy machine makes commits slow. */
export const quickTiming = { retryBaseMs: 10, retryMaxMs: 40, claimRetryMs: 20, slowCommitMs: 60_000 }

/** A Stemma with a scripted model in a temporary project. Everything is allowed unless the config says otherwise. */
export async function runScene(options: RunSceneOptions = {}): Promise<RunScene> {
  const temporary = await temporaryDirectory()
  const directory = join(temporary.path, "project")
  const data = join(temporary.path, "data")
  await mkdir(directory)
  for (const [name, text] of Object.entries(options.files ?? {})) {
    await mkdir(dirname(join(directory, name)), { recursive: true })
    await writeFile(join(directory, name), text)
  }
  if (options.git) await promisify(execFile)("git", ["init", "-q", directory])
  const warnings: unknown[] = []
  const { script = [], files: _f, git: _g, price, limit, ...rest } = options
  const ref = { providerID: "scripted", modelID: "m" }
  const model = createScriptedModel(script, { ref, ...(price && { price }), ...(limit && { limit }) })
  const open = (more: StemmaOptions = {}) =>
    openStemma({
      directory,
      data,
      env: { PATH: process.env.PATH, HOME: temporary.path },
      models: { scripted: () => model },
      onWarning: (error) => warnings.push(error),
      ...rest,
      ...more,
      timing: { ...quickTiming, ...rest.timing, ...more.timing },
      config: {
        model: "scripted/m",
        title: false,
        permission: { edit: "allow", bash: "allow" },
        ...rest.config,
        ...more.config,
      },
    })
  const stemma = await open()
  const others: Stemma[] = []
  return {
    stemma,
    model,
    directory,
    data,
    warnings,
    async again(more) {
      const other = await open(more)
      others.push(other)
      return other
    },
    async [Symbol.asyncDispose]() {
      for (const one of [stemma, ...others]) {
        const closing = one.close()
        await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, 1000).unref())])
        await one.close()
      }
      await temporary[Symbol.asyncDispose]()
    },
  }
}

export function partsOf<T extends PartType>(
  items: readonly HistoryItem[],
  type: T,
): Extract<Part, { type: T }>[] {
  return items.flatMap(({ parts }) => parts).filter((part) => part.type === type) as Extract<
    Part,
    { type: T }
  >[]
}

/** Fails unless the history can be sent to a model: every message is sealed and every call is settled. */
export async function assertValid(session: SessionHandle): Promise<void> {
  for (const { sealed, parts, message } of await session.messages()) {
    if (!sealed) throw new Error(`Message ${message.id} is open.`)
    for (const part of parts) {
      if (part.type !== "tool") continue
      if (part.state.status !== "completed" && part.state.status !== "error") {
        throw new Error(`Call ${part.callID} of ${part.tool} is ${part.state.status}.`)
      }
    }
  }
}

/** Waits until the last answer is complete. */
export async function answered(session: SessionHandle): Promise<void> {
  await until("there is an answer", async () => {
    const last = (await session.messages({ last: 1 }))[0]
    return last?.sealed === true && last.message.role === "assistant" && last.message.finish === "stop"
  })
}

/** How long a test waits for a fact before it fails: far longer than a busy machine needs. */
export const waitMsMax = 60_000

/** Waits until the condition holds, or fails with the description of what it waited for. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + waitMsMax
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`Waited in vain until ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
