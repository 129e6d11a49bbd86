import {
  type CommandEffects,
  commandEffects,
  edits,
  editsAnything,
  editsFromInput,
  type FileUse,
  namedFiles,
  reads,
} from "../analyse/command-effects.ts"
import { literalWord, shown, unknownWord, type Word } from "../parse/script.ts"
import { fromInput, gitListing, gitReading, repositoryOnly, treeChanging } from "./git-tables.ts"
import { hasLong, hasOption, type Options, type OptionTable, readOptions, valuesOf } from "./options.ts"
import { hiddenIn } from "./readers.ts"

/** A git command without the options before its subcommand. */
export interface GitCall {
  name: Word | undefined
  words: Word[]
  /** The directories of `-C` options, one relative to the other. */
  directories: Word[]
  /** Options before the subcommand that change what git runs. */
  dangerous: string[]
}

export function readGit(words: readonly Word[]): GitCall {
  const call: GitCall = { name: undefined, words: [], directories: [], dangerous: [] }
  const queue = [...words]
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    const text = word.value
    if (text === "-C") call.directories.push(queue.shift() ?? literalWord(""))
    else if (/^(?:--no-pager|--no-optional-locks|--literal-pathspecs|--no-replace-objects)$/.test(text ?? ""))
      continue
    else if (text !== undefined && !text.startsWith("-")) {
      call.name = word
      call.words = queue
      break
    } else if (/^(?:--version|--help)$/.test(text ?? "")) {
      call.name = literalWord(text!.slice(2))
      call.words = queue
      break
    } else {
      call.dangerous.push(word.source)
      if (
        /^(?:-c|--git-dir|--work-tree|--namespace|--config-env|--exec-path|--super-prefix)$/.test(text ?? "")
      )
        queue.shift()
    }
  }
  return call
}

export function gitEffects(words: readonly Word[]): CommandEffects {
  const call = readGit(words)
  const name = call.name?.value
  const directories: FileUse[] = call.directories.map((word) => ({ access: "directory", word }))
  if (name === undefined) {
    return commandEffects("runs", { files: directories, ...hiddenIn("git", call.dangerous) })
  }
  const effects = subcommandEffects(name, call.words)
  effects.files.push({ access: "repository", word: literalWord(".") })
  const files = effects.files.map((file) => ({ ...file, word: below(call.directories, file.word) }))
  const before = hiddenIn("git", call.dangerous)
  return {
    ...effects,
    effect: before.hidden ? "runs" : effects.effect,
    files: [...directories, ...files],
    ...before,
    ...firstHidden(effects, before),
  }
}

function firstHidden(effects: CommandEffects, before: { hidden?: string }): { hidden?: string } {
  const hidden = before.hidden ?? effects.hidden
  return hidden === undefined ? {} : { hidden }
}

/** A path relative to the directory of the `-C` options. */
function below(directories: readonly Word[], word: Word | undefined): Word | undefined {
  if (word === undefined || word.home || word.prefix.startsWith("/") || directories.length === 0) return word
  if (word.value === undefined || directories.some((one) => one.value === undefined))
    return unknownWord(word.source)
  const last = directories.findLastIndex((one) => one.home || one.value!.startsWith("/"))
  const parts = directories.slice(Math.max(last, 0)).map((one) => (one.home ? `~${one.value}` : one.value))
  const path = [...parts, word.value].join("/")
  return path.startsWith("~")
    ? { ...literalWord(path.slice(1)), home: true, prefix: "/" }
    : { ...literalWord(path), text: shown(word) }
}

function subcommandEffects(name: string, words: readonly Word[]): CommandEffects {
  const form = listsOnly(name, words)
  const known = Object.hasOwn(gitReading, name) ? gitReading[name] : form
  if (known) {
    const options = readOptions(words, known)
    const hidden = hiddenIn(`git ${name}`, [...options.dangerous, ...signaturesIn(words)])
    const plain = options.unknown.length === 0 && !hidden.hidden
    return commandEffects(plain ? "reads" : "runs", {
      files: [...pathsIn(options), ...contentsIn(name, options), ...written(words)],
      ...hidden,
    })
  }
  return changingEffects(name, words)
}

/** The table of a subcommand that is given in its listing form. */
function listsOnly(name: string, words: readonly Word[]): OptionTable | undefined {
  const known = Object.hasOwn(gitListing, name) ? gitListing[name] : undefined
  if (!known) return undefined
  const options = readOptions(words, known)
  if (options.unknown.length > 0) return undefined
  const [first] = options.operands
  const operands = options.operands.length
  const asked = hasOption(options, "-l", "--list", "--contains", "--merged", "--no-merged", "--points-at")
  switch (name) {
    case "branch":
    case "tag":
      return operands === 0 || asked ? known : undefined
    case "remote":
      return operands === 0 || first?.value === "get-url" ? known : undefined
    case "stash":
      return first?.value === "list" || first?.value === "show" ? known : undefined
    case "reflog":
      return operands === 0 || first?.value === "show" ? known : undefined
    case "worktree":
      return first?.value === "list" ? known : undefined
    case "symbolic-ref":
      return operands === 1 ? known : undefined
    case "config":
      return hasOption(options, "-l", "--list", "--get", "--get-all", "--get-regexp") ? known : undefined
    default:
      return undefined
  }
}

/** A revision looks like a path and is harmless as one; a path that leads outside is found by treating it as a path. */
function pathsIn(options: Options): FileUse[] {
  const looked = options.operands.filter(
    (word) => word.home || /^\.{0,2}\/|^\.\.|\/\.\.(?:\/|$)/.test(word.value ?? word.prefix),
  )
  return reads([...looked, ...options.attached, ...valuesOf(options, "-f", "-O", "-S", "-X")])
}

/** `%G?` and similar formats make git run the program that checks signatures. */
function signaturesIn(words: readonly Word[]): string[] {
  return words.filter((word) => /%G|signature/i.test(word.value ?? word.prefix)).map((word) => word.source)
}

/**
 * Files whose content is shown because they are named: as operands, or after a revision's colon. Without an index, git
 * reads any file.
 */
function contentsIn(name: string, options: Options): FileUse[] {
  const named = options.operands.map((word) => {
    const [, path] = /^[^:]*:(?:[0-3]:)?(?![/(])(.+)$/s.exec(word.value ?? "") ?? []
    return path === undefined ? { word, ifThere: true } : { word: literalWord(path) }
  })
  const loose = hasLong(options, "no-index") || (name === "grep" && hasLong(options, "untracked"))
  const both = loose || (name === "diff" && options.operands.length > 1)
  const known = named.filter(({ word }) => word.value !== undefined || word.glob !== undefined)
  return [
    ...known.map((one): FileUse => ({ access: "read", ...one, ...(both ? { recursive: true } : {}) })),
    ...(loose && name === "grep" ? reads([literalWord(".")], { recursive: true }) : []),
    // `:/` and similar pathspecs lead to the top of the work tree, or elsewhere.
    ...(loose ? reads(options.operands.filter((word) => /^(?::|$)/.test(word.prefix)).map(unclear)) : []),
  ]
}

function unclear(word: Word): Word {
  return unknownWord(word.source)
}

/** `--output=file`, also abbreviated. */
function written(words: readonly Word[]): FileUse[] {
  return words.flatMap((word, index) => {
    const found = /^--outp?u?t?(?:=(.*))?$/s.exec(word.value ?? "")
    if (!found) return []
    return edits(found[1] === undefined ? words.slice(index + 1, index + 2) : [literalWord(found[1])])
  })
}

const transports = /^(?:ext|fd|[a-z0-9+.-]+)::/i

function changingEffects(name: string, words: readonly Word[]): CommandEffects {
  const options = readOptions(words, {
    lenient: true,
    valued: "mCFbBcxuo",
    longValued: "message file source pathspec-from-file",
    danger: { long: `upload-pack receive-pack exec template${name === "clone" ? " config" : ""}` },
  })
  const strange = words
    .filter((word) => transports.test(word.value ?? word.prefix))
    .map((word) => word.source)
  const runsWords =
    ["bisect", "submodule"].includes(name) && words.some((word) => /^(?:run|foreach)$/.test(word.value ?? ""))
  const runsOption = name === "rebase" && hasOption(options, "-x")
  const tool = [
    "filter-branch",
    "difftool",
    "mergetool",
    "instaweb",
    "send-email",
    "daemon",
    "credential",
    "for-each-repo",
    "remote-ext",
    "remote-fd",
    "shell",
    "upload-pack",
    "receive-pack",
    "upload-archive",
  ].includes(name)
  // `-u` names a program only where git reads from another repository.
  const packs = ["clone", "ls-remote", "fetch-pack", "archive"].includes(name) && hasOption(options, "-u")
  const configures = name === "clone" && hasOption(options, "-c")
  const dangerous = [
    ...options.dangerous,
    ...strange,
    ...(runsWords || runsOption || tool || packs || configures ? words.slice(0, 2).map(shown) : []),
  ]
  const hidden = hiddenIn(`git ${name}`, dangerous)
  return commandEffects(repositoryOnly.has(name) ? "writes" : "runs", {
    files: [...namedFiles(words), ...takenIn(options), ...changedBy(name, words, options)],
    ...hidden,
  })
}

/** A file that is passed to git is in its repository from then on, where other commands show it. */
function takenIn(options: Options): FileUse[] {
  const forced = hasOption(options, "-f", "--force")
  const given = [...options.operands, ...valuesOf(options, "-F", "--file", "-t"), ...options.attached]
  return reads(
    given.filter((word) => word.value !== undefined || word.glob),
    {
      ifThere: true,
      recursive: forced,
    },
  )
}

function changedBy(name: string, words: readonly Word[], options: Options): FileUse[] {
  const end = words.findIndex((word) => word.value === "--")
  switch (name) {
    case "config":
      return edits([literalWord(".git/config")])
    case "restore":
    case "rm":
    case "mv":
      return edits(options.operands, { recursive: true, into: name === "mv" ? options.operands : undefined })
    case "clone":
      return edits([...options.operands.slice(1), ...options.operands.slice(0, 1).flatMap(clonedTo)])
    case "init":
      return edits(options.operands)
    case "checkout":
      return end < 0 ? [editsAnything] : edits(words.slice(end + 1), { recursive: true })
    case "format-patch":
    case "archive":
    case "bundle":
      return [...edits(valuesOf(options, "-o")), editsAnything]
    default:
      if (fromInput.has(name)) return [editsFromInput]
      return treeChanging.has(name) ? [editsAnything] : []
  }
}

/** Without a directory, `clone` uses the last part of the URL. */
function clonedTo(word: Word): Word[] {
  const [, name] = /([^/:]+?)(?:\.git)?\/*$/.exec(word.value ?? "") ?? []
  return name === undefined ? [] : [literalWord(name)]
}
