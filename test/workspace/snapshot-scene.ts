import { execFile } from "node:child_process"
import { lstat, mkdir, readdir, readFile, readlink, realpath, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import {
  type GitSnapshots,
  openSnapshots,
  type SnapshotsOptions,
} from "../../src/workspace/snapshot/snapshots.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const execute = promisify(execFile)

/** A project with snapshots, in a temporary directory that contains nothing else. */
export interface SnapshotScene extends AsyncDisposable {
  base: string
  root: string
  gitDirectory: string
  snapshots: GitSnapshots
  open(options?: Partial<SnapshotsOptions>): GitSnapshots
  /** Takes a snapshot, and fails if snapshots are unavailable. */
  take(): Promise<string>
  path(name: string): string
  put(files: Record<string, string | Uint8Array>): Promise<void>
  text(name: string): Promise<string>
  exists(name: string): Promise<boolean>
  /** Runs the user's own git. */
  git(...args: string[]): Promise<string>
  /** Every file below a directory with its bytes; a symlink with its target. */
  everything(directory: string): Promise<Record<string, string>>
}

export async function snapshotScene(options: { repository?: boolean } = {}): Promise<SnapshotScene> {
  const temporary = await temporaryDirectory()
  const base = await realpath(temporary.path)
  const root = join(base, "project")
  const gitDirectory = join(base, "data", "snapshots", "one")
  await mkdir(root)
  const open = (more: Partial<SnapshotsOptions> = {}) => openSnapshots({ root, gitDirectory, ...more })
  const scene: SnapshotScene = {
    base,
    root,
    gitDirectory,
    open,
    snapshots: open(),
    async take() {
      const taken = await scene.snapshots.take()
      if (taken === undefined) throw new Error(scene.snapshots.unavailable)
      return taken
    },
    path: (name) => join(root, name),
    async put(files) {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(root, name)), { recursive: true })
        await writeFile(join(root, name), content)
      }
    },
    text: (name) => readFile(join(root, name), "utf8"),
    exists: (name) =>
      lstat(join(root, name)).then(
        () => true,
        () => false,
      ),
    git: async (...args) =>
      (await execute("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: root })).stdout,
    everything,
    [Symbol.asyncDispose]: temporary[Symbol.asyncDispose],
  }
  if (options.repository) await scene.git("init", "--quiet")
  return scene
}

async function everything(directory: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isSymbolicLink()) found[path] = `-> ${await readlink(path)}`
    else if (entry.isFile()) found[path] = (await readFile(path)).toString("latin1")
  }
  return found
}
