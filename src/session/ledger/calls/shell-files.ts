import { pathOf } from "../names.ts"
import { type FileChanges, patchFiles } from "./patch-files.ts"
import { scriptFiles } from "./script-files.ts"

/** The files that a command line changes and removes, as far as its words show it. */
export type ShellFiles = FileChanges

const commandLengthMax = 12_000

export function shellFiles(command: string): ShellFiles {
  const files: ShellFiles = { changed: [], removed: [] }
  const { text, fed } = withoutHeredocs(command.slice(0, commandLengthMax))
  for (const words of simpleCommands(text)) addFiles(words, files)
  for (const { line, body } of fed) addFed(line, { body, files })
  return files
}

interface Heredoc {
  /** The command line that the heredoc is fed to. */
  line: string
  body: string
}

function withoutHeredocs(command: string): { text: string; fed: Heredoc[] } {
  const kept: string[] = []
  const fed: Heredoc[] = []
  let body: string[] = []
  let until: string | undefined
  const close = () => {
    if (until !== undefined) fed.push({ line: kept.at(-1)!, body: body.join("\n") })
    until = undefined
    body = []
  }
  for (const line of command.split("\n")) {
    if (until === undefined) {
      kept.push(line)
      until = /<<-?\s?\\?["']?(\w+)/.exec(line)?.[1]
    } else if (line.trim() === until) close()
    else body.push(line)
  }
  close()
  return { text: kept.join("\n"), fed }
}

const patching = /\b(?:git apply|patch|apply_patch|git am)\b/
const interpreting = /\b(?:python[\d.]*|node|ruby|perl|php|bun|deno|tsx|ts-node)\b/
const shelling = /^\s*(?:sudo )?(?:ba|z|da)?sh\b/

/** A heredoc may change files too, if it is a patch or a script. */
function addFed(line: string, { body, files }: { body: string; files: ShellFiles }): void {
  const fed = patching.test(line)
    ? patchFiles(body)
    : interpreting.test(line)
      ? { changed: scriptFiles(body), removed: [] }
      : shelling.test(line)
        ? shellFiles(body.replaceAll("<<", ""))
        : undefined
  for (const path of fed?.changed ?? []) pushPath(files.changed, path)
  for (const path of fed?.removed ?? []) pushPath(files.removed, path)
}

/** The words of each simple command: without quotation marks, and with each redirect as a word of its own. */
function simpleCommands(text: string): string[][] {
  const commands: string[][] = [[]]
  const word = /"((?:[^"\\]|\\.)*)"|'([^']*)'|(\d?>>?|&>)|(\|\||&&|[|;\n&])|([^\s"'|;&>]+)/g
  for (const [, double, single, redirect, end, plain] of text.matchAll(word)) {
    if (end !== undefined) commands.push([])
    else commands.at(-1)!.push(redirect ?? double ?? single ?? plain!)
  }
  return commands.filter((words) => words.length > 0)
}

function addFiles(all: string[], files: ShellFiles): void {
  const words: string[] = []
  for (let index = 0; index < all.length; index++) {
    if (/^(?:1?>>?|&>)$/.test(all[index]!)) pushPath(files.changed, all[++index])
    else if (/^\d>>?$/.test(all[index]!)) index++
    else if (!/^\w+=/.test(all[index]!) || words.length > 0) words.push(all[index]!)
  }
  const [first, second] = words
  const name = first === "git" ? `git ${second}` : first === "sudo" ? second : first
  const operands = words
    .slice(first === "git" || first === "sudo" ? 2 : 1)
    .filter((word) => !word.startsWith("-"))
  switch (name) {
    case "rm":
    case "git rm":
    case "unlink":
      for (const path of operands) pushPath(files.removed, path)
      break
    case "mv":
    case "git mv":
      pushPath(files.changed, operands.at(-1))
      for (const path of operands.slice(0, -1)) pushPath(files.removed, path)
      break
    case "cp":
    case "ln":
    case "install":
    case "rsync":
      pushPath(files.changed, operands.at(-1))
      break
    case "git checkout":
    case "git restore":
      for (const path of operands) if (pathOf(path)) pushPath(files.changed, path)
      break
    case "touch":
    case "tee":
    case "truncate":
      for (const path of operands) pushPath(files.changed, path)
      break
    case "sed":
    case "perl":
      if (words.some((word) => /^-\w*i/.test(word) || word.startsWith("--in-place"))) {
        for (const path of operands.slice(1)) pushPath(files.changed, path)
      }
      break
    default:
      addWritten(words, files)
  }
}

/** Formatters and downloads have an option that says that they write. A script on the command line names its file. */
function addWritten(words: readonly string[], files: ShellFiles): void {
  const script = interpreting.test(words[0] ?? "")
    ? words.findIndex((word) => /^-(?:c|e|-eval)$/.test(word))
    : -1
  if (script > 0) for (const path of scriptFiles(words[script + 1] ?? "")) pushPath(files.changed, path)
  if (words.some((word) => /^(?:-w|--write|--fix|--in-place)$/.test(word))) {
    for (const word of words.slice(1)) if (pathOf(word)) pushPath(files.changed, word)
  }
  for (const [index, word] of words.entries()) {
    if (/^(?:-o|-O|--output|--out|--outfile)$/.test(word)) pushPath(files.changed, words[index + 1])
  }
}

function pushPath(paths: string[], word: string | undefined): void {
  if (word === undefined || word.startsWith("/dev/") || /[*?$`]|^&?\d*$/.test(word) || word.length > 300)
    return
  paths.push(word)
}
