import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { z } from "zod"
import {
  type ConfigInput,
  openStemma,
  type Stemma,
  type StemmaOptions,
  type Tool,
} from "../../../src/index.ts"
import { configFor } from "../model-server/config.ts"
import { price } from "../run/scene.ts"
import { callsOfWork, markOf } from "./plan.ts"

/** What the processes of a lane share: one project, one store, one model server. */
export interface TaskScene {
  /** The directory of everything; its creator removes it. */
  root: string
  /** The model server's `baseURL`. */
  baseURL: string
}

export async function makeTaskScene({ root }: TaskScene): Promise<void> {
  const project = join(root, "project")
  await mkdir(project)
  for (let number = 0; number < callsOfWork; number++) {
    const lines = Array.from({ length: callsOfWork }, (_, line) => `line ${line} of file ${number}\n`)
    await writeFile(join(project, `known-${number}.txt`), lines.join(""))
  }
}

export function taskPaths({ root }: TaskScene) {
  return {
    project: join(root, "project"),
    data: join(root, "data"),
    database: join(root, "data", "stemma.db"),
    /** One line for each time that a bash call ran. */
    marks: join(root, "project", "marks.txt"),
    /** One line for each time that a call killed its process. */
    deaths: join(root, "deaths.txt"),
  }
}

export function linesOf(path: string): string[] {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : []
}

/** Opens Stemma on the scene, as each of its processes does. */
export async function openTaskScene(scene: TaskScene, options: StemmaOptions = {}): Promise<Stemma> {
  const { project, data } = taskPaths(scene)
  return openStemma({
    directory: project,
    data,
    env: { PATH: process.env.PATH, HOME: scene.root },
    tools: deadlyTools(scene),
    snapshots: false,
    ...options,
    timing: { claimRetryMs: 50, ...options.timing },
    config: {
      ...(configFor(scene.baseURL, { protocol: "openai", cost: price }) as ConfigInput),
      title: false,
      permission: { edit: "allow", bash: "allow", "die-safe": "allow", "die-never": "allow" },
      agent: {
        worker: { mode: "subagent", description: "Does one thing." },
        lead: { mode: "subagent", description: "Has things done.", tools: { task: true } },
      },
      task: { depth: 2 },
      ...options.config,
    },
  })
}

const Input = z.object({ name: z.string() })
type Input = z.infer<typeof Input>

/**
 * The calls of `work X` for which the deadly tools wait, by the number of deaths, so that work is done between two
 * deaths.
 */
const marked = [1, 4, 7]

/** Tools that kill their process once the task beside them has progressed; one may be repeated, the other may not. */
function deadlyTools(scene: TaskScene): readonly Tool<never>[] {
  const { marks, deaths } = taskPaths(scene)
  const tool = (name: string, replay: "safe" | "never"): Tool<Input> => ({
    name,
    description: "Ends the world.",
    input: Input,
    replay,
    writes: false,
    wants: async () => [{ permission: name, patterns: ["*"] }],
    async execute(input) {
      const call = marked[Math.min(linesOf(deaths).length, marked.length - 1)]!
      const mark = markOf(input.name.replace(/\.0$/, ".1"), call)
      while (!linesOf(marks).includes(mark)) await new Promise((resolve) => setTimeout(resolve, 5))
      appendFileSync(deaths, `${input.name}\n`)
      process.kill(process.pid, "SIGKILL")
      return { title: "", output: "" }
    },
  })
  return [
    tool("die-safe", "safe"),
    tool("die-never", "never"),
  ] as readonly unknown[] as readonly Tool<never>[]
}
