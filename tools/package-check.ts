import { existsSync, readdirSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { basename, dirname, join } from "node:path"
import { filesBelow, importsOfFile } from "./imports.ts"

interface Manifest {
  version: string
  bin: Record<string, string>
  exports: Record<string, string | Record<string, string>>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** The problems of the package, one sentence each: exports, imports, versions, lock file, documents. */
export function packageProblems(root = "."): string[] {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest
  return [
    ...exportProblems(root, manifest),
    ...importProblems(root, manifest),
    ...versionProblems(root, manifest),
    ...lockProblems(readFileSync(join(root, "package-lock.json"), "utf8")),
    ...dependencyPageProblems(readFileSync(join(root, "docs/dependencies.md"), "utf8"), manifest),
    ...folders(join(root, "src")).flatMap(readmeProblems),
  ]
}

/** Each entry's types and code must come out of one source file. */
function exportProblems(root: string, manifest: Manifest): string[] {
  const problems: string[] = []
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string") {
      if (!existsSync(join(root, target))) problems.push(`exports "${entry}": there is no ${target}`)
      continue
    }
    const sources = Object.values(target).map((path) =>
      path.replace(/^\.\/dist\//, "src/").replace(/(\.d\.ts|\.js)$/, ".ts"),
    )
    for (const source of new Set(sources))
      if (!existsSync(join(root, source))) problems.push(`exports "${entry}": there is no ${source}`)
    if (new Set(sources).size !== 1)
      problems.push(`exports "${entry}": types and default name different modules`)
  }
  for (const path of Object.values(manifest.bin))
    if (!existsSync(join(root, path))) problems.push(`bin: there is no ${path}`)
  return problems
}

/** In src/ every import must resolve, and what is shipped may need no devDependency. Elsewhere `tsc` sees to it. */
function importProblems(root: string, manifest: Manifest): string[] {
  const builtin = new Set(builtinModules.map((name) => (name.startsWith("node:") ? name : `node:${name}`)))
  const all = { ...manifest.dependencies, ...manifest.devDependencies }
  const problems: string[] = []
  for (const file of filesBelow(join(root, "src"), ".ts")) {
    const packages = file.endsWith(".test.ts") ? all : manifest.dependencies
    for (const { specifier, line } of importsOfFile(file)) {
      const resolves = specifier.startsWith(".")
        ? existsSync(join(dirname(file), specifier))
        : builtin.has(specifier) || Object.hasOwn(packages, packageOf(specifier))
      if (!resolves)
        problems.push(`${file}:${line} imports ${specifier}, which is not there or not a dependency`)
    }
  }
  return problems
}

function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")
}

function versionProblems(root: string, manifest: Manifest): string[] {
  const problems: string[] = []
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }))
    if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      problems.push(`package.json: ${name} is "${version}"; name one exact version`)
  if (!readFileSync(join(root, "src/protocol/version.ts"), "utf8").includes(`"${manifest.version}"`))
    problems.push(`src/protocol/version.ts does not say ${manifest.version}, the version in package.json`)
  return problems
}

/** A lock file that names a registry host works only where that host does. */
export function lockProblems(text: string): string[] {
  const lock = JSON.parse(text) as { packages: Record<string, { resolved?: string }> }
  return Object.entries(lock.packages)
    .filter(([, entry]) => entry.resolved !== undefined && /^[a-z+]+:/i.test(entry.resolved))
    .map(([path, entry]) => `package-lock.json: ${path} names ${entry.resolved}; run npm install again`)
}

function dependencyPageProblems(page: string, manifest: Manifest): string[] {
  const named = new Set([...page.matchAll(/^\| `([^`]+)`/gm)].map((match) => match[1]!))
  const needed = new Set([...Object.keys(manifest.dependencies), ...Object.keys(manifest.devDependencies)])
  return [
    ...[...needed.difference(named)].map((name) => `docs/dependencies.md has no line for ${name}`),
    ...[...named.difference(needed)].map((name) => `docs/dependencies.md names ${name}, which is gone`),
  ]
}

/** The folder and every folder below it that holds a source file or another such folder. */
function folders(folder: string): string[] {
  const below = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => folders(join(folder, entry.name)))
  const hasSources = readdirSync(folder).some((name) => name.endsWith(".ts"))
  return below.length > 0 || hasSources ? [folder, ...below] : []
}

/** Each file and folder has one line that begins with its name, and each such line a file or folder. */
export function readmeProblems(folder: string): string[] {
  const path = join(folder, "README.md")
  if (!existsSync(path)) return basename(folder) === "src" ? [] : [`${path} is missing`]
  const text = readFileSync(path, "utf8")
  const lines = [...text.matchAll(/^(?:[-*]|\|) +\**`([\w.-]+(?:\.\w+|\/))`/gm)].map((match) => match[1]!)
  const named = new Set(lines)
  const present = new Set(
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.name.endsWith(".ts"))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)),
  )
  const needed = new Set([...present].filter((name) => !name.endsWith(".test.ts")))
  const problems = [...needed.difference(named)].map((name) => `${path} has no line for ${name}`)
  problems.push(...[...named.difference(present)].map((name) => `${path} names ${name}, which is gone`))
  if (lines.length > named.size) problems.push(`${path} names a file twice`)
  if (!text.includes("May import:")) problems.push(`${path} does not say what the folder "May import:"`)
  return problems
}

if (import.meta.main) {
  const problems = packageProblems()
  for (const problem of problems) console.log(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
}
