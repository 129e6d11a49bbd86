import { pathOf } from "./names.ts"

/** What a command line does to files, as far as its words say so. */
export interface ShellFiles {
  changed: string[]
  removed: string[]
}

const commandLengthMax = 8_000

export function shellFiles(command: string): ShellFiles {
  const files: ShellFiles = { changed: [], removed: [] }
  for (const words of simpleCommands(withoutHeredocs(command.slice(0, commandLengthMax))))
    addFiles(words, files)
  return files
}

function withoutHeredocs(command: string): string {
  const kept: string[] = []
  let until: string | undefined
  for (const line of command.split("\n")) {
    if (until !== undefined) {
      if (line.trim() === until) until = undefined
      continue
    }
    kept.push(line)
    until = /<<-?\s?["']?(\w+)/.exec(line)?.[1]
  }
  return kept.join("\n")
}

/** The words of each simple command: quotes taken off, redirects as words of their own. */
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

/** Formatters and downloads say with an option that they write. */
function addWritten(words: readonly string[], files: ShellFiles): void {
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
