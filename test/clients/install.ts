import { execFile } from "node:child_process"
import { mkdir, readFile, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)
const installMs = 600_000

/**
 * The path of OpenCode's program. It is installed into a temporary directory, and found there by the next run. Install
 * scripts are not run: the package for this platform has the program itself.
 */
export async function installOpencode(version: string): Promise<string> {
  const directory = join(tmpdir(), "stemma-clients", `opencode-${version}`)
  const platform = `opencode-${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
  const program = join(directory, "node_modules", platform, "bin", "opencode")
  if (await isFile(program)) return program
  await install(directory, [`opencode-ai@${version}`])
  if (await isFile(program)) return program
  throw new Error(`opencode-ai ${version} has no program for this platform: ${program} is missing.`)
}

/** The directory that has these packages, each with its version. */
export async function installPackages(name: string, packages: readonly string[]): Promise<string> {
  const directory = join(tmpdir(), "stemma-clients", name)
  const mark = join(directory, "installed.json")
  const wanted = JSON.stringify(packages)
  if ((await readFile(mark, "utf8").catch(() => "")) === wanted) return directory
  await install(directory, packages)
  await writeFile(mark, wanted)
  return directory
}

async function install(directory: string, packages: readonly string[]): Promise<void> {
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, "package.json"), '{ "private": true, "type": "module" }\n')
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages]
  await run("npm", args, { cwd: directory, timeout: installMs })
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}
