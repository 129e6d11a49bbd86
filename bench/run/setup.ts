import { join } from "node:path"
import type { StemmaOptions } from "../../src/index.ts"
import { openStemma, type Stemma } from "../../src/index.ts"
import { type Scratch, scratchDirectory } from "../bench.ts"
import { makeGitProject } from "./git-project.ts"
import { startServer } from "./model-server.ts"

/** The paths and the model server of a Stemma of the benchmark; children get them as arguments. */
export interface Setup {
  baseURL: string
  directory: string
  data: string
}

/** A model server, a git project and an empty data directory. */
export async function makeSetup(): Promise<Setup & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const scratch: Scratch = stack.use(await scratchDirectory())
  const { baseURL } = stack.use(await startServer())
  const directory = scratch.path("project")
  await makeGitProject(directory)
  const kept = stack.move()
  return {
    baseURL,
    directory,
    data: scratch.path("data"),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

export function setupArgs({ baseURL, directory, data }: Setup): string[] {
  return [baseURL, directory, data]
}

export function setupFromArgs(): Setup {
  const [baseURL, directory, data] = process.argv.slice(2) as [string, string, string]
  return { baseURL, directory, data }
}

/** How Stemma is opened in all groups: the SQLite store, snapshots on, no title, and a context window that is never full. */
export function stemmaOptions(
  { baseURL, directory, data }: Setup,
  { contextLimit = 10_000_000 }: { contextLimit?: number } = {},
): StemmaOptions {
  return {
    directory,
    data,
    env: { PATH: process.env.PATH, HOME: join(data, "home") },
    config: {
      model: "local/m1",
      title: false,
      provider: {
        local: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL, apiKey: "bench" },
          models: { m1: { limit: { context: contextLimit, output: 8192 }, cost: { input: 1, output: 2 } } },
        },
      },
    },
    onWarning: (error) => {
      throw error
    },
  }
}

export function openBenchStemma(setup: Setup, fetch?: typeof globalThis.fetch): Promise<Stemma> {
  return openStemma({ ...stemmaOptions(setup), ...(fetch && { fetch }) })
}
