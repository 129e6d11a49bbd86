import { execFile } from "node:child_process"
import { mkdir, realpath, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { type ConfigOptions, type ConfigSource, openConfig } from "../../src/config/load.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

/** A user's config directory, a data directory and a project, all empty. */
export interface Place extends AsyncDisposable {
  user: string
  data: string
  project: string
  /** Writes files below the user's config directory or the project: text as it is, anything else as JSON. */
  write(files: Record<string, unknown>): Promise<void>
  remove(name: string): Promise<void>
  open(options?: Partial<ConfigOptions>): ConfigSource
}

export async function place(): Promise<Place> {
  const directory = await temporaryDirectory()
  const root = await realpath(directory.path)
  const folders = { user: join(root, "user"), data: join(root, "data"), project: join(root, "project") }
  for (const folder of Object.values(folders)) await mkdir(folder)
  return {
    ...folders,
    async write(files) {
      for (const [name, content] of Object.entries(files)) {
        const path = join(root, name)
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, typeof content === "string" ? content : JSON.stringify(content, null, 2))
      }
    },
    remove: (name) => rm(join(root, name), { recursive: true }),
    open: (options) =>
      openConfig({
        directory: folders.project,
        env: {},
        dataDirectory: folders.data,
        configDirectory: folders.user,
        recheckMs: 0,
        ...options,
      }),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  }
}

/** Runs git as somebody who has configured nothing. */
export async function git(directory: string, ...args: string[]): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    HOME: directory,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@example.com",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@example.com",
  }
  return (await promisify(execFile)("git", args, { cwd: directory, env })).stdout
}
