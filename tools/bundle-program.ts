import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { type Plugin, rolldown } from "rolldown"

/**
 * The packages that are bundled: what every start of the program loads, in hundreds of small files, what many starts load to
 * read the config, and the providers' packages, which otherwise load a second copy of zod. A dynamic import stays one: its files are loaded when they are first
 * needed.
 */
const included = [
  "zod",
  "hono",
  "@hono/node-server",
  "ulid",
  "@ai-sdk/anthropic",
  "@ai-sdk/google",
  "@ai-sdk/openai",
  "@ai-sdk/openai-compatible",
  "@ai-sdk/provider",
  "yaml",
]

/** Modules that look for files of the program: `worker.js` and `main.cjs`, which are beside their own file. */
const besideProgram = ["stores/sqlite/connection/worker-client.ts", "cli/start/start.ts"]

interface Manifest {
  name: string
  license: string
  dependencies: Record<string, string>
}

/**
 * Replaces `cli/` of a build by the program in a few files, which start in half the time and with less memory than 600. The
 * library stays as it is, one file for each source, for bundlers and readers.
 */
export async function bundleProgram({ root, out }: { root: string; out: string }): Promise<void> {
  const folder = join(out, "cli")
  rmSync(folder, { recursive: true, force: true })
  const packages = new Set([
    ...(await bundle({ main: "cli/main.ts" }, { root, folder, format: "cjs", wrap: asFunction })),
    ...(await bundle({ start: "cli/start/start.ts" }, { root, folder, format: "cjs" })),
    // On its own: it must not share files that begin something when they are loaded.
    ...(await bundle({ worker: "stores/sqlite/connection/worker.ts" }, { root, folder, format: "esm" })),
  ])
  writeFileSync(join(folder, "LICENSES.txt"), licenses([...packages].sort()))
}

interface BundleOptions {
  root: string
  folder: string
  format: "cjs" | "esm"
  wrap?: (code: string) => string
}

/** `cli/start/` runs the files as scripts, and gives them what Node gives to a CommonJS module. */
function asFunction(code: string): string {
  return `(function (exports, require, module, __filename) {"use strict";${code}\n})\n`
}

/** Returns the directories of the packages whose code it has taken. */
async function bundle(
  entries: Record<string, string>,
  { root, folder, format, wrap = (code) => code }: BundleOptions,
): Promise<string[]> {
  const source = join(root, "src")
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest
  const packages = Object.keys(dependencies).filter((name) => !included.includes(name))
  await using made = await rolldown({
    input: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join(source, path)])),
    cwd: root,
    platform: "node",
    // The program is for one Node, which knows all that the sources use.
    transform: { target: "esnext" },
    tsconfig: false,
    // Importing a module does nothing (a test says so), so one that nothing is used of is left out.
    treeshake: { moduleSideEffects: false },
    external: (id) => packages.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [ownAddress(source)],
    logLevel: "warn",
  })
  const extension = format === "cjs" ? "cjs" : "js"
  const { output } = await made.write({
    dir: folder,
    format,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `[name]-[hash].${extension}`,
    // A script cannot import; `require` loads ES modules too.
    dynamicImportInCjs: false,
  })
  const chunks = output.filter((file) => file.type === "chunk")
  for (const { fileName, code } of chunks) writeFileSync(join(folder, fileName), plainText(wrap(code)))
  return chunks.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => packageDirectory.exec(id)?.[0] ?? []))
}

const packageDirectory = /^.*[/\\]node_modules[/\\](@[^/\\]+[/\\])?[^/\\]+/

/** Files that a module looks for are found from where the library has that module. */
function ownAddress(source: string): Plugin {
  return {
    name: "own-address",
    transform(code, id) {
      const path = relative(source, id).split(sep).join("/")
      if (path.startsWith("../") || besideProgram.includes(path)) return null
      if (/import\.meta\.(?!url)/.test(code))
        throw new Error(`${path}: say where it is by import.meta.url only`)
      if (!code.includes("import.meta.url")) return null
      const place = JSON.stringify(`../${path.replace(/\.ts$/, ".js")}`)
      return code.replaceAll("import.meta.url", `new URL(${place}, import.meta.url).href`)
    },
  }
}

/**
 * One Chinese character makes the engine keep all of a file with two bytes for each character. Escapes say the same in names,
 * texts and patterns.
 */
function plainText(code: string): string {
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

/** Their licenses ask to come along with their code. */
function licenses(packages: readonly string[]): string {
  return packages
    .map((directory) => {
      const file = readdirSync(directory).find((name) => /^licen[sc]e(\.\w+)?$/i.test(name))
      const { name, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest
      const text = file === undefined ? license : readFileSync(join(directory, file), "utf8").trim()
      return `${name}\n\n${text}\n`
    })
    .join("\n---\n\n")
}
