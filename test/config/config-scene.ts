import { execFile } from "node:child_process"
import { mkdir, realpath, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { type ConfigOptions, type ConfigSource, openConfig } from "../../src/config/load.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

/** A user's config directory, a data directory and a project, all empty. */
export interface ConfigScene extends AsyncDisposable {
  user: string
  data: string
  project: string
  /** Writes files below the user's config directory or the project: strings as they are, other values as JSON. */
  write(files: Record<string, unknown>): Promise<void>
  remove(name: string): Promise<void>
  open(options?: Partial<ConfigOptions>): ConfigSource
}

export async function configScene(): Promise<ConfigScene> {
  const directory = await temporaryDirectory()
  const root = await realpath(directory.path)
  const directories = { user: join(root, "user"), data: join(root, "data"), project: join(root, "project") }
  for (const path of Object.values(directories)) await mkdir(path)
  return {
    ...directories,
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
        directory: directories.project,
        env: {},
        dataDirectory: directories.data,
        configDirectory: directories.user,
        recheckMs: 0,
        ...options,
      }),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  }
}

/** Runs git without any configuration of the user or the system. */
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
