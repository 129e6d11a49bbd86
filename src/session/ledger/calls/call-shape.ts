import type { JsonObject } from "../../../protocol/index.ts"
import { pathOf } from "../names.ts"
import { patchFiles } from "./patch-files.ts"

/** What the input of a call says, whatever the tool and its parameters are called. */
export interface CallShape {
  /** A command line that the call runs. */
  command?: string
  /** The files that the input names. */
  paths: string[]
  /** The old path of a file that is moved or copied. */
  source?: string
  removed: string[]
  /** True if the parameters say that the call writes: a text, a patch, a replacement. */
  writes: boolean
}

const depthMax = 5
const valuesMax = 400
const pathLengthMax = 300

const commandKey = /^(?:command|cmd|command_?line|shell_?command|commands|script|bash|run)$/i
const argumentsKey = /^(?:args|arguments|argv|params)$/i
const programKey = /^(?:program|executable|binary|exe|file)$/i
const pathKey = /^(?:\w*_?(?:file_?path|file_?name|path|file)s?|notebook|document|uri)$/i
const sourceKey = /^(?:source|src|from|old|origin)(?:_?(?:file)?_?(?:path|file|name))?$/i
const destinationKey = /^(?:dest|destination|target|to|new)(?:_?(?:file)?_?(?:path|file|name))?$/i
const writingKey =
  /^(?:content|contents|file_?text|text|data|body|diff|patch\w*|edits?|changes|(?:new|old)_?(?:str(?:ing)?|text|content|source|code)|replace(?:ment)?|insert\w*|code_?edit)$/i
const patchStart = /^(?:\*\*\* |diff --git |--- \S|\+\+\+ )/m

export function callShape(input: JsonObject): CallShape {
  const shape: CallShape = { paths: [], removed: [], writes: false }
  const found = { source: "", destination: "", program: "", left: valuesMax }
  look(input, { key: "", depth: 0 })
  if (found.destination !== "") shape.paths.push(found.destination)
  if (found.source !== "") {
    if (found.destination === "") shape.paths.push(found.source)
    else shape.source = found.source
  }
  shape.paths = [...new Set(shape.paths)].filter((path) => !path.startsWith("blob:"))
  return shape

  function look(value: unknown, { key, depth }: { key: string; depth: number }): void {
    if (depth > depthMax || found.left-- <= 0) return
    if (typeof value === "string") lookAtText(value, key)
    else if (Array.isArray(value)) {
      if (isWords(value) && lookAtWords(value, key)) return
      for (const each of value) look(each, { key, depth: depth + 1 })
    } else if (typeof value === "object" && value !== null) {
      for (const [name, each] of Object.entries(value)) look(each, { key: name, depth: depth + 1 })
    }
  }

  function lookAtText(value: string, key: string): void {
    if (value === "") return
    if (writingKey.test(key)) shape.writes = true
    if (commandKey.test(key)) shape.command ??= value
    else if (argumentsKey.test(key) && shape.command !== undefined) shape.command += ` ${value}`
    else if (sourceKey.test(key) && isPath(value)) found.source ||= value
    else if (destinationKey.test(key) && isPath(value)) found.destination ||= value
    else if (pathKey.test(key) && isPathLike(value)) shape.paths.push(value.replace(/^file:\/\//, ""))
    else if (patchStart.test(value.slice(0, 400))) {
      const { changed, removed } = patchFiles(value)
      shape.paths.push(...changed)
      shape.removed.push(...removed)
      shape.writes ||= changed.length + removed.length > 0
    }
    if (programKey.test(key) && /^[\w./-]{1,80}$/.test(value)) found.program ||= value
  }

  function lookAtWords(words: readonly string[], key: string): boolean {
    if (commandKey.test(key)) {
      const line = /^-\w*c$/.test(words[1] ?? "") ? words.slice(2).join(" ") : words.join(" ")
      shape.command ??= line
      return true
    }
    if (!argumentsKey.test(key)) return false
    const program = shape.command ?? found.program
    if (program === "") return false
    shape.command = /^-\w*c$/.test(words[0] ?? "")
      ? words.slice(1).join(" ")
      : `${program} ${words.join(" ")}`
    return true
  }
}

function isWords(values: readonly unknown[]): values is string[] {
  return values.length > 0 && values.every((value) => typeof value === "string")
}

function isPathLike(value: string): boolean {
  return value.length <= pathLengthMax && !value.replace(/^file:\/\//, "").includes("://")
}

/** Of parameters that may hold anything, only what surely is a path. */
function isPath(value: string): boolean {
  return (
    value.length <= pathLengthMax && (pathOf(value) !== undefined || /^(?:\/|\.{1,2}\/)[^\s]+$/.test(value))
  )
}
