import { execFile } from "node:child_process"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { type ConfigInput, openStemma, type Stemma, type StemmaOptions } from "../../../src/index.ts"
import { configFor } from "../model-server/config.ts"
import { createRunTools } from "./tools.ts"

/** What several processes share: one project, one store, one model server. */
export interface SharedScene {
  /** The directory of everything; its creator removes it. */
  root: string
  /** The model server's `baseURL`. */
  baseURL: string
  snapshots: boolean
}

export const price = { input: 3, output: 15 }

export async function makeShared(scene: SharedScene): Promise<void> {
  const project = join(scene.root, "project")
  await mkdir(project)
  await writeFile(join(project, "known.txt"), "what was there before\n")
  if (scene.snapshots) await promisify(execFile)("git", ["init", "-q", project])
}

export function sharedPaths({ root }: SharedScene) {
  return {
    project: join(root, "project"),
    data: join(root, "data"),
    database: join(root, "data", "stemma.db"),
    /** One line for each time that a tool ran. */
    ran: join(root, "ran.jsonl"),
  }
}

/** Opens Stemma on the shared scene, as each of its processes does. */
export async function openShared(scene: SharedScene, options: StemmaOptions = {}): Promise<Stemma> {
  const { project, data, ran } = sharedPaths(scene)
  return openStemma({
    directory: project,
    data,
    env: { PATH: process.env.PATH, HOME: scene.root },
    tools: createRunTools({ ran }),
    snapshots: scene.snapshots,
    ...options,
    config: {
      ...(configFor(scene.baseURL, { protocol: "openai", cost: price }) as ConfigInput),
      title: false,
      permission: { note: "allow", look: "allow", put: "allow", die: "allow", wish: "ask" },
      ...options.config,
    },
  })
}
