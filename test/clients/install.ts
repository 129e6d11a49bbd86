import { execFile } from "node:child_process"
import { mkdir, stat, writeFile } from "node:fs/promises"
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
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, "package.json"), '{ "private": true }\n')
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", `opencode-ai@${version}`]
  await run("npm", args, { cwd: directory, timeout: installMs })
  if (await isFile(program)) return program
  throw new Error(`opencode-ai ${version} has no program for this platform: ${program} is missing.`)
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}
