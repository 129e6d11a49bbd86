import { execFile } from "node:child_process"
import { cp, mkdir, symlink } from "node:fs/promises"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { scratchDirectory } from "../bench.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))

/** The package as it is published: built JavaScript, without files that only a checkout has. */
export interface BuiltPackage extends AsyncDisposable {
  /** Builds the package on first use and returns the path of a file in it. */
  path(name: string): Promise<string>
}

/** One build for all groups, because it takes a few seconds. */
export function builtPackage(): BuiltPackage {
  const stack = new AsyncDisposableStack()
  let built: Promise<string> | undefined
  return {
    async path(name) {
      built ??= build(stack)
      return `${await built}/${name}`
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

async function build(stack: AsyncDisposableStack): Promise<string> {
  const scratch = stack.use(await scratchDirectory())
  const directory = scratch.path("stemma")
  await mkdir(directory)
  const args = [`${root}tools/build.ts`, "--out", `${directory}/dist`]
  await run(process.execPath, args, { cwd: root }).catch((error: { stdout: string }) => {
    throw new Error(`The build failed:\n${error.stdout}`)
  })
  for (const name of ["package.json", "bin", "schema"]) {
    await mkdir(dirname(`${directory}/${name}`), { recursive: true })
    await cp(`${root}${name}`, `${directory}/${name}`, { recursive: true })
  }
  await symlink(`${root}node_modules`, `${directory}/node_modules`)
  return directory
}
