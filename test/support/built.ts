import { basename, join } from "node:path"

/**
 * The programs that tests start as processes and threads are built once, by `global-setup.ts`: a process that strips
 * the types of 400 source files uses three times the CPU time of a process that loads a few built files. The build has
 * the program in `bin/`, `dist/` and `schema/`, laid out as in the published package, and in `children/` the scripts
 * that `startChild` starts.
 */
export const buildVariable = "STEMMA_TEST_BUILD"

/** The thread of the SQLite store, in a build. */
export const workerFile = "dist/cli/worker.js"

function built(path: string): string {
  const directory = process.env[buildVariable]
  if (directory === undefined)
    throw new Error(`${buildVariable} is not set. Add test/support/global-setup.ts to the project's config.`)
  return join(directory, path)
}

/** The built form of a script that `startChild` starts. */
export function builtChild(script: string): string {
  return built(`children/${basename(script, ".ts")}.js`)
}

/** `bin/stemma.js` of the built program. */
export function builtProgram(): string {
  return built("bin/stemma.js")
}

/**
 * A plugin of Vite and Rolldown that lets SQLite stores start the built thread. Most tests open such a store, and a thread that
 * strips types uses three times the CPU time. Without a path the directory is read from the environment when a store is
 * opened, and not written into the code: Vitest keeps transformed code longer than a build.
 */
export function startsBuiltWorker(path?: string) {
  const file =
    path === undefined ? `\`\${process.env.${buildVariable}}/${workerFile}\`` : JSON.stringify(path)
  return {
    name: "starts-built-worker",
    transform(code: string, id: string): string | null {
      if (!id.endsWith("/sqlite/connection/worker-client.ts")) return null
      const changed = code.replace(/new URL\(file, [^)]+\)/, `pathToFileURL(${file})`)
      if (changed === code) throw new Error(`${id} has no "new URL(file, ...)" to replace.`)
      return `import { pathToFileURL } from "node:url"\n${changed}`
    },
  }
}
