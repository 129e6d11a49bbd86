import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { cp, mkdir, symlink, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { promisify } from "node:util"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { filesBelow, importsOfFile } from "../tools/imports.ts"
import { type TemporaryDirectory, temporaryDirectory } from "./support/temporary-directory.ts"

const run = promisify(execFile)
const tsc = resolve("node_modules/.bin/tsc")
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
  version: string
  exports: Record<string, string | Record<string, string>>
  dependencies: Record<string, string>
  files: string[]
}
const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith(".json"))
const specifier = (entry: string): string => `stemma${entry.slice(1)}`

describe("the published package", () => {
  let scratch: TemporaryDirectory
  let installed: string

  /** As npm would install it: package.json, bin, schema and the build, beside the dependencies. */
  beforeAll(async () => {
    scratch = await temporaryDirectory()
    installed = join(scratch.path, "node_modules/stemma")
    await mkdir(installed, { recursive: true })
    const build = run(process.execPath, ["tools/build.ts", "--out", join(installed, "dist")])
    await build.catch((error) => Promise.reject(new Error(`The build failed:\n${error.stdout}`)))
    await cp("package.json", join(installed, "package.json"))
    await cp("bin", join(installed, "bin"), { recursive: true })
    await cp("schema", join(installed, "schema"), { recursive: true })
    for (const name of [...Object.keys(manifest.dependencies), "@types"]) {
      const link = join(scratch.path, "node_modules", name)
      await mkdir(dirname(link), { recursive: true })
      await symlink(resolve("node_modules", name), link)
    }
  })
  afterAll(() => scratch?.[Symbol.asyncDispose]())

  test("has every file that exports names", () => {
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === "string" ? [target] : Object.values(target),
    )
    expect(targets.filter((target) => !existsSync(join(installed, target)))).toEqual([])
  })

  test("has every file that its README links to", async () => {
    const packed = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"])
    const [{ files }] = JSON.parse(packed.stdout) as [{ files: { path: string }[] }]
    const paths = files.map(({ path }) => path)
    for (const readme of ["README.md", "README.zh.md"]) {
      const text = readFileSync(readme, "utf8").replace(/^```[\s\S]*?^```$/gm, "")
      const targets = [...text.matchAll(/\]\(([^)\s#]+)/g)].map((match) => match[1]!)
      const local = targets.filter((target) => !/^[a-z]+:/.test(target))
      const isThere = (target: string) =>
        paths.some((path) => path === target || path.startsWith(`${target}/`))
      expect(local.filter((target) => !isThere(target))).toEqual([])
    }
  })

  test("loads each entry on this Node, without a word", async () => {
    const script = entries.map((entry) => `await import(${JSON.stringify(specifier(entry))})`).join("\n")
    const result = await run(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: scratch.path,
    })
    expect(result).toEqual({ stdout: "", stderr: "" })
  })

  test("opens a store from the built files, its worker included", async () => {
    const script = `
      import { openStore } from "stemma"
      const store = await openStore({ path: "store/stemma.db" })
      const found = await store.search({ text: "nothing" })
      await store.close()
      console.log(found.hits.length)`
    const result = await run(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: scratch.path,
    })
    expect(result).toEqual({ stdout: "0\n", stderr: "" })
  })

  test("imports no source file: tsc rewrites imports, but not the URLs of workers", () => {
    const files = filesBelow(join(installed, "dist"), ".js")
    const imports = files.flatMap((path) =>
      importsOfFile(path).map(({ specifier }) => `${path} ${specifier}`),
    )
    expect(imports.filter((line) => line.endsWith(".ts"))).toEqual([])
  })

  test("has a client that is small in a browser: no zod, and less than 40 kB with gzip", async () => {
    const entry = join(installed, "dist/client/index.js")
    await using bundle = await rolldown({ input: entry, platform: "browser", logLevel: "silent" })
    const { output } = await bundle.generate({ format: "esm", minify: true })
    expect(output).toHaveLength(1)
    const [{ code, moduleIds }] = output
    expect(moduleIds.filter((id) => id.includes("zod"))).toEqual([])
    expect(gzipSync(code).length).toBeLessThan(40_000)
  })

  test("gives its types to a strict program", async () => {
    const imports = entries.map((entry, i) => `import * as m${i} from "${specifier(entry)}"`)
    const uses = `export const used = [${entries.map((_, i) => `m${i}`).join(", ")}]`
    const check = 'import { openStore, type Session, type Store } from "stemma"\n'
    const body = "export async function f(s: Store): Promise<Session> { return s.session(await g()) }\n"
    const g =
      "async function g(): Promise<string> { await openStore({ driver: 'memory' }); return 'ses_1' }\n"
    await writeFile(join(scratch.path, "program.ts"), `${imports.join("\n")}\n${check}${uses}\n${body}${g}`)
    await writeFile(join(scratch.path, "package.json"), '{ "type": "module" }')
    const options = [
      "--strict",
      "--skipDefaultLibCheck",
      "--noEmit",
      "--module",
      "nodenext",
      "--target",
      "es2025",
      "--types",
      "node",
    ]
    const { stdout } = await run(tsc, [...options, "program.ts"], { cwd: scratch.path })
    expect(stdout).toBe("")
  })

  test("has a program that tells its version and its help", async () => {
    const program = join(installed, "bin/stemma.js")
    expect((await run(process.execPath, [program, "--version"])).stdout).toBe(`${manifest.version}\n`)
    expect((await run(process.execPath, [program, "--help"])).stdout).toContain("Usage: stemma")
  })

  test("has a program in a few files that finds all it needs", async () => {
    const files = filesBelow(join(installed, "dist/cli"), ".js")
    expect(files.length).toBeLessThan(80)
    expect(existsSync(join(installed, "dist/cli/LICENSES.txt"))).toBe(true)
    const home = join(scratch.path, "home")
    await mkdir(home)
    const options = {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, OLLAMA_HOST: "127.0.0.1:1" },
      timeout: 60_000,
    }
    const program = join(installed, "bin/stemma.js")
    const config = join(home, ".config/stemma")
    await mkdir(join(config, "agents"), { recursive: true })
    await writeFile(join(config, "stemma.json"), '{ "default_agent": "tea" /* a comment */ }')
    await writeFile(join(config, "agents/tea.md"), "---\ndescription: Knows tea\n---\nYou know tea.\n")
    const said = await run(
      process.execPath,
      [program, "run", "--agent", "tea", "todo: order oolong"],
      options,
    )
    expect(said.stdout).toContain("todo")
    expect(said.stderr).toMatch(/^Session \S+ in [^\n]+\n>/)
    // A search is done by a worker, which is a file of the library.
    const found = await run(process.execPath, [program, "session", "list", "--search", "oolong"], options)
    expect(found.stdout).toMatch(/^ses_/)
    expect(found.stderr).toBe("")
  })

  test("has a program that serves all that lies beside it, and shows its own pages", async () => {
    const home = join(scratch.path, "server")
    await mkdir(home)
    const program = join(installed, "bin/stemma.js")
    const child = spawn(process.execPath, [program, "serve", "--port", "0", "--quiet"], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, OLLAMA_HOST: "127.0.0.1:1" },
      stdio: ["ignore", "pipe", "inherit"],
    })
    try {
      const [url] = (await once(child.stdout!.setEncoding("utf8"), "data")) as [string]
      for (const path of ["/docs", "/docs/style.css", "/openapi.json", "/healthz", "/"]) {
        expect({ path, status: (await fetch(`${url.trim()}${path}`)).status }).toEqual({ path, status: 200 })
      }
    } finally {
      child.kill()
      await once(child, "exit")
    }
  })

  test("ships no source and no test", () => {
    expect(manifest.files).not.toContain("src")
    expect(filesBelow(join(installed, "dist"), ".js").filter((path) => path.includes(".test."))).toEqual([])
  })
})

describe("bin/stemma.js on an older Node", () => {
  const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find((path) => existsSync(path))

  test("says in one line what it needs, whatever the version claims to be", async () => {
    const script = `
      Object.defineProperty(process.versions, "node", { value: "20.20.2" })
      Object.defineProperty(process, "version", { value: "v20.20.2" })`
    const preload = `data:text/javascript,${encodeURIComponent(script)}`
    const failed = await run(process.execPath, ["--import", preload, "bin/stemma.js"]).catch((error) => error)
    expect(failed).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "stemma needs Node.js 24 or newer; this is v20.20.2.\n",
    })
  })

  test.skipIf(oldNode === undefined)("also when the system's own Node is one", async () => {
    const version = (await run(oldNode!, ["--version"])).stdout.trim()
    const result = await run(oldNode!, ["bin/stemma.js"]).catch((error) => error)
    if (Number.parseInt(version.slice(1), 10) >= 24) expect(result.stdout).toContain("stemma")
    else expect(result.stderr).toBe(`stemma needs Node.js 24 or newer; this is ${version}.\n`)
  })
})
