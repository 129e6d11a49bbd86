import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { filesBelow, type Import, importsOf, importsOfFile } from "../tools/imports.ts"

const sentence =
  "Data knows nothing, rules know data, the loop knows ports, edges know the loop, and nobody knows an edge."

/** A folder imports only from folders with a smaller number, never from one with the same. */
const layers: Record<string, number> = {
  protocol: 0,
  session: 1,
  system: 1,
  stores: 2,
  models: 2,
  workspace: 2,
  config: 2,
  tools: 3,
  stream: 3,
  run: 4,
  interop: 5,
  server: 5,
  client: 5,
  cli: 6,
}

/** Folders that may import less than their number allows. */
const only: Record<string, string[]> = { client: ["protocol", "session"] }

/** Folders that have one door: folders with a larger number import that file and no other one of them. */
const doors: Record<string, string> = { run: "run/index.ts" }

/** Files that put the layers together; they may import any folder, and nobody imports them but the program the library. */
const composition = ["index.ts", "cli/main.ts"]

/** Drivers of a port: each may import the files directly in its folder, and beside them only what is named here. */
const drivers: Record<string, Record<string, string[]>> = {
  stores: { "memory.ts": ["plain"], plain: [], sqlite: [], jsonl: ["plain"], postgres: [], conformance: [] },
}

/** Folders without I/O: no `node:` module. */
const pure = ["protocol", "session"]

/** Packages that may be imported statically, by file or folder. Everything else is loaded when first needed. */
const packages: Record<string, string[]> = {
  "protocol/": ["zod", "ulid"],
  "stores/commit.ts": ["zod"],
  "config/files/schema.ts": ["zod"],
  "tools/": ["zod"],
  "run/step/tools/toolbox.ts": ["zod"],
  "run/api/arguments/": ["zod"],
  // As a whole it is loaded when a server is first made.
  "server/": ["zod", "hono", "@hono/node-server"],
}

/** Why a file may not import this; undefined if it may. Paths are relative to src/. */
function violation(file: string, { specifier, kind }: Import): string | undefined {
  if (specifier.startsWith("node:")) {
    return pure.includes(folderOf(file)) ? `${folderOf(file)}/ does no I/O` : undefined
  }
  if (!specifier.startsWith(".")) {
    if (kind !== "static") return undefined
    const allowed = Object.entries(packages).some(
      ([at, names]) => file.startsWith(at) && names.includes(specifier),
    )
    return allowed ? undefined : "packages are loaded when first needed"
  }
  const target = normalize(join(dirname(file), specifier))
  if (target.startsWith("..")) return "it is outside src/"
  if (file === "cli/main.ts" && target === "index.ts") return undefined
  if (composition.includes(target) && !file.endsWith(".test.ts")) return `nobody imports ${target}`
  if (composition.includes(file)) return undefined
  return folderViolation(file, target) ?? doorViolation(file, target) ?? driverViolation(file, target)
}

function folderViolation(file: string, target: string): string | undefined {
  const from = folderOf(file)
  const to = folderOf(target)
  if (from === to) return undefined
  if (layers[from] === undefined) return `${from}/ is not in the table`
  if (layers[to] === undefined) return `${to}/ is not in the table`
  if (only[from] && !only[from].includes(to)) return `${from}/ imports ${only[from].join("/ and ")}/ only`
  return layers[to] < layers[from] ? undefined : `${from}/ is ${layers[from]}, ${to}/ is ${layers[to]}`
}

function doorViolation(file: string, target: string): string | undefined {
  const to = folderOf(target)
  const door = doors[to]
  if (door === undefined || folderOf(file) === to || target === door) return undefined
  // A unit test may build the parts that its subject is given.
  return file.endsWith(".test.ts") ? undefined : `edges use ${to}/ through ${door} only`
}

function driverViolation(file: string, target: string): string | undefined {
  const folder = folderOf(target)
  const table = drivers[folder]
  if (table === undefined) return undefined
  const to = target.split("/")[1]!
  if (table[to] === undefined)
    return target.split("/").length > 2 ? `${folder}/${to}/ is not in the table` : undefined
  const from = folderOf(file) === folder ? file.replace(/\.test\.ts$/, ".ts").split("/")[1]! : ""
  if (from === to || table[from]?.includes(to)) return undefined
  return `${folder}/${to} is a driver: only index.ts and cli/main.ts know it`
}

function folderOf(file: string): string {
  return file.includes("/") ? file.split("/")[0]! : ""
}

const sources = filesBelow("src", ".ts").map((path) => path.slice("src/".length))
const shipped = sources.filter((file) => !file.endsWith(".test.ts"))

describe("the import table", () => {
  test("every import in src/ points down", () => {
    const found: string[] = []
    for (const file of sources) {
      const isTest = file.endsWith(".test.ts")
      for (const one of importsOfFile(join("src", file))) {
        if (isTest && !one.specifier.startsWith(".")) continue
        const why = violation(file, one)
        if (why) found.push(`src/${file}:${one.line} imports ${one.specifier}: ${why}`)
      }
    }
    expect(found, `${sentence}\n${found.join("\n")}\n`).toEqual([])
  })

  test("edges read the store through the engine's reader and never write it", () => {
    const edges = shipped.filter((file) => (layers[folderOf(file)] ?? 0) > layers.run!)
    const taken = /\bstemma\.store\b|\{[^{}]*\bstore\b[^{}]*\} = (?:\w+\.)*stemma\b/
    expect(edges.filter((file) => taken.test(readFileSync(join("src", file), "utf8")))).toEqual([])
  })

  test("programs are started only where the program's path is known to be outside the project", () => {
    const starting = shipped.filter((file) =>
      importsOfFile(join("src", file)).some(({ specifier }) =>
        /^(node:)?(child_process|cluster)$/.test(specifier),
      ),
    )
    // `findProgram` finds git and bash. Ripgrep is part of Stemma, and the conformance suite starts Node itself.
    expect(starting.sort()).toEqual([
      "config/project.ts",
      "stores/conformance/commit/lease.ts",
      "tools/search/ripgrep.ts",
      "tools/shell/run/process.ts",
      "workspace/git/git-command.ts",
    ])
  })

  test("every folder of src/ has a number", () => {
    const folders = new Set(sources.map(folderOf).filter((folder) => folder !== ""))
    expect([...folders].filter((folder) => layers[folder] === undefined)).toEqual([])
  })

  test.each([
    ["session/history/fork.ts", "../../stores/store.ts", "static", "session/ is 1, stores/ is 2"],
    ["session/history/fork.ts", "../../stores/store.ts", "type", "session/ is 1, stores/ is 2"],
    ["session/history/fork.ts", "node:fs", "static", "session/ does no I/O"],
    ["session/history/fork.ts", "../../protocol/index.ts", "static", undefined],
    ["models/model.ts", "../stores/store.ts", "type", "models/ is 2, stores/ is 2"],
    [
      "client/replica/replica.ts",
      "../../stream/hub.ts",
      "type",
      "client/ imports protocol/ and session/ only",
    ],
    ["client/replica/replica.ts", "../../session/replica/reduce.ts", "static", undefined],
    ["stores/sqlite/store.ts", "../jsonl/lines.ts", "static", "is a driver"],
    ["stores/sqlite/store.ts", "../memory.ts", "static", "is a driver"],
    ["stores/sqlite/store.ts", "../store.ts", "type", undefined],
    ["stores/jsonl/store.ts", "../plain/model.ts", "static", undefined],
    ["stores/conformance/suite.ts", "../memory.ts", "static", "is a driver"],
    ["stores/store.ts", "./memory.ts", "dynamic", "is a driver"],
    ["stores/sqlite/store.ts", "zod", "static", "loaded when first needed"],
    ["stores/postgres/store.ts", "pg", "dynamic", undefined],
    ["stores/commit.ts", "zod", "static", undefined],
    ["run/loop/loop.ts", "../../index.ts", "static", "nobody imports index.ts"],
    ["run/loop/loop.ts", "../../stores/sqlite/index.ts", "dynamic", "is a driver"],
    ["cli/commands/serve.ts", "../../index.ts", "dynamic", "nobody imports index.ts"],
    ["server/server.ts", "../run/stemma.ts", "type", "edges use run/ through run/index.ts only"],
    ["server/server.ts", "../run/index.ts", "static", undefined],
    [
      "cli/commands/run.ts",
      "../../run/prompt/prompt.ts",
      "static",
      "edges use run/ through run/index.ts only",
    ],
    ["cli/main.ts", "../index.ts", "dynamic", undefined],
    ["index.ts", "./stores/sqlite/index.ts", "dynamic", undefined],
  ] as const)("%s importing %s (%s): %s", (file, specifier, kind, expected) => {
    const why = violation(file, { specifier, kind, line: 1 })
    if (expected === undefined) expect(why).toBeUndefined()
    else expect(why).toContain(expected)
  })
})

describe("finding imports", () => {
  test("finds every form and none in a comment", () => {
    const source = [
      'import { a } from "./a.ts"',
      'import type { B } from "./b.ts"',
      "import {",
      "  type C,",
      "  c,",
      '} from "./c.ts"',
      'import * as d from "./d.ts"',
      'import "./e.ts"',
      'export * from "./f.ts"',
      'export type { G } from "./g.ts"',
      '// import "./no.ts"',
      "/**",
      ' * import "./no.ts"',
      " */",
      'const glob = "src/**/*.ts"',
      'const h = await import("./h.ts")',
      'new Worker(new URL("./i.ts", import.meta.url))',
    ].join("\n")
    expect(importsOf(source).map(({ specifier, line, kind }) => `${specifier} ${line} ${kind}`)).toEqual([
      "./a.ts 1 static",
      "./b.ts 2 type",
      "./c.ts 6 static",
      "./d.ts 7 static",
      "./e.ts 8 static",
      "./f.ts 9 static",
      "./g.ts 10 type",
      "./h.ts 16 dynamic",
      "./i.ts 17 dynamic",
    ])
  })
})

describe("session/ is pure", () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\)|\bMath\.random\b|\bperformance\b|\bprocess\b|\bcrypto\b|\bset(?:Timeout|Interval|Immediate)\b|\bfetch\b|\bconsole\b/
  // Words in a pattern or a list are data; a template with an expression in it is looked at.
  const patterns = /(?<=[=(,:]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*/g
  const texts = /"(?:[^"\\\n]|\\.)*"|`(?:(?!\$\{)[^`\\]|\\[\s\S])*`/g
  test.each(shipped.filter((file) => folderOf(file) === "session"))(
    "%s has no clock, randomness or I/O",
    (file) => {
      const code = readFileSync(join("src", file), "utf8")
        .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*/gm, "")
        .replace(patterns, "0")
        .replace(texts, '""')
        .replace(/\/\/.*/g, "")
      expect(code.split("\n").filter((line) => impure.test(line))).toEqual([])
    },
  )
})

describe("importing has no side effect", () => {
  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
    exports: Record<string, string | { default: string }>
  }
  const entries = Object.values(manifest.exports)
    .filter((target) => typeof target !== "string")
    .map((target) => target.default.replace("./dist/", "./src/").replace(/\.js$/, ".ts"))

  test.concurrent.each(entries)("%s says nothing, opens nothing and lets the process end", async (entry) => {
    const script = `
      const globals = new Set(Object.getOwnPropertyNames(globalThis))
      const events = process.eventNames().length
      await import(${JSON.stringify(entry)})
      const left = process.getActiveResourcesInfo().filter((kind) => kind !== "PipeWrap")
      if (left.length > 0) console.log("open:", left)
      if (process.eventNames().length !== events) console.log("listens to:", process.eventNames())
      const added = Object.getOwnPropertyNames(globalThis).filter((name) => !globals.has(name))
      if (added.some((name) => !name.startsWith("__zod"))) console.log("new globals:", added)
      if (process.moduleLoadList.includes("NativeModule sqlite")) console.log("node:sqlite is loaded")`
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", script],
      { timeout: 100_000 },
    )
    const mayLoad = entry.startsWith("./src/stores/sqlite/") ? "node:sqlite is loaded\n" : ""
    expect({ stdout: stdout.replace(mayLoad, ""), stderr }).toEqual({ stdout: "", stderr: "" })
  })
})
