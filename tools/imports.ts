import { readdirSync, readFileSync } from "node:fs"
import { join, sep } from "node:path"

export interface Import {
  specifier: string
  line: number
  /** `type` imports vanish when the code runs; `dynamic` ones load when they are first needed. */
  kind: "static" | "type" | "dynamic"
}

const wholeLineComments = /^[ \t]*(?:\/\/.*|\/\*[\s\S]*?\*\/)/gm
const statement =
  /^[ \t]*(?:import|export)\s+(type\s+(?!,|from\b))?(?:[\w$*{},\s]*?\bfrom\s*)?["']([^"'\n]+)["']/gm
const call = /\bimport\s*\(\s*["'`]([^"'`$\n]+)["'`]/g
const url = /\bnew URL\(\s*["'`](\.[^"'`$\n]+)["'`]\s*,\s*import\.meta\.url/g

/** The imports of a source text: statements, `import()` with a literal, and `new URL("./x.ts", import.meta.url)`. */
export function importsOf(source: string): Import[] {
  const code = source.replace(wholeLineComments, (comment) => comment.replace(/[^\n]/g, " "))
  const found: (Import & { at: number })[] = []
  const add = (match: RegExpExecArray, specifier: string, kind: Import["kind"]): void => {
    const at = match.index + match[0].lastIndexOf(specifier)
    found.push({ specifier, kind, at, line: code.slice(0, at).split("\n").length })
  }
  for (const match of code.matchAll(statement)) add(match, match[2]!, match[1] ? "type" : "static")
  for (const match of code.matchAll(call)) add(match, match[1]!, "dynamic")
  for (const match of code.matchAll(url)) add(match, match[1]!, "dynamic")
  return found.sort((a, b) => a.at - b.at).map(({ at: _, ...rest }) => rest)
}

/** The files below a folder whose name ends so, as paths with `/`, sorted. */
export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name).split(sep).join("/"))
    .filter((path) => !path.includes("/node_modules/"))
    .sort()
}

export function importsOfFile(path: string): Import[] {
  return importsOf(readFileSync(path, "utf8"))
}
