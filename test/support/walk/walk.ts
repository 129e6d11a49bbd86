import { readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { importsOfFile } from "../../../tools/imports.ts"

/** One numbered line of docs/walk.md. */
export interface WalkStep {
  number: number
  file: string
  /** A function, or a method without its class. */
  name: string
  /** Lines under the first heading happen when the server starts, before the prompt. */
  isBefore: boolean
}

const line = /^(\d+)\. (?:\*\*)?`(src\/[\w./-]+\.ts)` `([\w#.]+)`(?:\*\*)?: \S/

export function walkSteps(text: string): WalkStep[] {
  const steps: WalkStep[] = []
  let headings = 0
  for (const one of text.split("\n")) {
    if (one.startsWith("## ")) headings++
    const match = line.exec(one)
    if (match) {
      const [, number, file, name] = match
      steps.push({ number: Number(number), file: file!, name: name!, isBefore: headings === 1 })
    } else if (/^\d+\./.test(one)) throw new Error(`docs/walk.md: cannot read the line ${one}`)
  }
  return steps
}

/** The files that a file imports. An `index.ts` stands for the files that it exports too. */
export function importedFiles(file: string, seen = new Set<string>()): Set<string> {
  for (const { specifier } of importsOfFile(file)) {
    if (!specifier.startsWith(".")) continue
    const target = normalize(join(dirname(file), specifier))
    if (seen.has(target)) continue
    seen.add(target)
    if (target.endsWith("/index.ts") && target !== "src/index.ts") importedFiles(target, seen)
  }
  return seen
}

/** Whether a file declares the function, the method or the class. */
export function declares(file: string, name: string): boolean {
  const own = name.split(".").at(-1)!.replace("#", "#?")
  const declared = new RegExp(
    `(?:function\\*? |class |const )${own}\\b|^\\s+(?:static |async |\\*|get |readonly )*${own}(?:<[^(]*>)?\\(`,
    "m",
  )
  return declared.test(readFileSync(file, "utf8"))
}
