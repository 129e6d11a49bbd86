import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { basename, join, relative, resolve, sep } from "node:path"
import { pathToFileURL } from "node:url"
import { type Plugin, rolldown } from "rolldown"
import type { TestProject } from "vitest/node"
import { bundleProgram } from "../../tools/bundle-program.ts"
import { buildVariable, startsBuiltWorker, workerFile } from "./built.ts"

const root = resolve(import.meta.dirname, "../..")
const builds = join(root, "node_modules/.cache/stemma-test-build")
/** A build that no test run has used for this long is removed. */
const unusedMs = 24 * 3_600_000

/** A file system in memory, on Linux. */
const memory = "/dev/shm"
const memoryBytesMin = 1024 ** 3

/** Everything that can change a build. Tests and documents cannot. */
const sources = ["bin", "schema", "src", "test", "tools", "package.json", "package-lock.json"]

/** The scripts that `startChild` starts: files, and directories of files, relative to `test/`. */
const children = [
  "support/children",
  "support/client/server-child.ts",
  "support/server/safety-child.ts",
  "support/tasks/task-child.ts",
  "stores/jsonl-crowd-child.ts",
  "stores/jsonl-journal-child.ts",
]

/** Packages that look for files beside their own. */
const external = ["@vscode/ripgrep", "tree-sitter-bash", "web-tree-sitter"]

/** Before the first test of a project: builds what `built.ts` names, and moves temporary directories into memory. */
export default async function setup({ config }: TestProject): Promise<() => void> {
  await build()
  return config.env?.STEMMA_SOAK === undefined ? moveTemporaryDirectories() : () => {}
}

/** Builds unless the same sources were built before, and passes the path of the build to the tests. */
async function build(): Promise<void> {
  const directory = join(builds, hashOfSources())
  if (!existsSync(directory)) await buildInto(directory)
  const now = new Date()
  utimesSync(directory, now, now)
  removeUnused(now.getTime())
  process.env[buildVariable] = directory
}

/**
 * A store syncs its files when it is created and when it is closed, and the tests create thousands of stores: on a disk
 * they would wait for it. A file system in memory keeps the writes of a killed process as a disk does. The soak tests
 * stay on the disk.
 */
function moveTemporaryDirectories(): () => void {
  const before = process.env.TMPDIR
  if (before !== undefined || !canHoldFiles(memory)) return () => {}
  for (const name of readdirSync(memory)) {
    const [, pid] = /^stemma-tests-(\d+)$/.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      rmSync(join(memory, name), { recursive: true, force: true })
  }
  const own = join(memory, `stemma-tests-${process.pid}`)
  mkdirSync(own, { recursive: true, mode: 0o700 })
  process.env.TMPDIR = own
  return () => {
    delete process.env.TMPDIR
    rmSync(own, { recursive: true, force: true })
  }
}

/** Some containers have only little memory for files, or forbid starting programs from there, which some tests do. */
function canHoldFiles(directory: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(directory)
    if (bavail * bsize < memoryBytesMin) return false
    const script = join(directory, `stemma-tests-${process.pid}.sh`)
    try {
      writeFileSync(script, "#!/bin/sh\n", { mode: 0o700, flag: "wx" })
      execFileSync(script)
      return true
    } finally {
      rmSync(script, { force: true })
    }
  } catch {
    return false
  }
}

async function buildInto(directory: string): Promise<void> {
  // Two test runs may build at the same time: each has its own directory, and the first to finish is kept.
  const own = `${directory}.${process.pid}`
  rmSync(own, { recursive: true, force: true })
  mkdirSync(own, { recursive: true })
  for (const name of ["bin", "schema", "package.json"])
    cpSync(join(root, name), join(own, name), { recursive: true })
  await Promise.all([
    bundleProgram({ root, out: join(own, "dist") }),
    bundleChildren({ out: join(own, "children"), worker: join(directory, workerFile) }),
  ])
  try {
    renameSync(own, directory)
  } catch (error) {
    rmSync(own, { recursive: true, force: true })
    if (!existsSync(directory)) throw error
  }
}

async function bundleChildren({ out, worker }: { out: string; worker: string }): Promise<void> {
  const files = children.flatMap((name) => {
    const path = join(root, "test", name)
    return name.endsWith(".ts") ? [path] : readdirSync(path).map((file) => join(path, file))
  })
  await using made = await rolldown({
    input: Object.fromEntries(files.map((file) => [basename(file, ".ts"), file])),
    cwd: root,
    platform: "node",
    transform: { target: "esnext" },
    tsconfig: false,
    external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [startsBuiltWorker(worker), addressOfSource()],
    logLevel: "warn",
  })
  await made.write({ dir: out, format: "esm", chunkFileNames: "[name]-[hash].js" })
}

/** A module that looks for files beside itself finds them beside its source. */
function addressOfSource(): Plugin {
  return {
    name: "address-of-source",
    transform(code, id) {
      if (!id.startsWith(join(root, "src") + sep) || !code.includes("import.meta.url")) return null
      return code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
    },
  }
}

function hashOfSources(): string {
  const hash = createHash("sha256").update(process.version)
  const add = (path: string): void => {
    if (statSync(path).isDirectory()) {
      for (const name of readdirSync(path).sort()) add(join(path, name))
    } else if (!/\.(test\.ts|md)$/.test(path)) {
      hash.update(`\n${relative(root, path)}\n`).update(readFileSync(path))
    }
  }
  for (const name of sources) add(join(root, name))
  return hash.digest("hex").slice(0, 16)
}

function removeUnused(nowMs: number): void {
  for (const name of readdirSync(builds)) {
    const path = join(builds, name)
    const info = statSync(path, { throwIfNoEntry: false })
    if (info && nowMs - info.mtimeMs > unusedMs) rmSync(path, { recursive: true, force: true })
  }
}
