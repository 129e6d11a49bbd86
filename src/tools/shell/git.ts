import { hasOption, type Options, type OptionTable, readOptions, valuesOf } from "./options.ts"
import { hiddenIn } from "./readers.ts"
import { literalWord, shown, unknownWord, type Word } from "./script.ts"
import { edits, editsAnything, type FileUse, reads, type Verdict, verdict } from "./verdict.ts"

/** A git command without the options before its name. */
export interface GitCall {
  name: Word | undefined
  words: Word[]
  /** Where `-C` leads, one after the other. */
  directories: Word[]
  /** Options before the name that change what git runs. */
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

const diffShort = "pusRwbzaBDMW"
const diffValued = "USGlO"
const diffLong =
  "patch no-patch stat numstat shortstat dirstat summary name-only name-status no-color color color-words word-diff minimal patience histogram raw full-index binary no-renames find-renames check exit-code quiet cached staged merge-base ignore-all-space ignore-space-change ignore-blank-lines ignore-space-at-eol function-context no-ext-diff no-textconv text pickaxe-all pickaxe-regex relative no-index no-prefix compact-summary root cc"
const diffLongValued =
  "unified diff-filter diff-algorithm word-diff-regex inter-hunk-context abbrev src-prefix dst-prefix"
const logShort = `${diffShort}nign0123456789cmtrEFP`
const logLong = `${diffLong} oneline graph decorate no-decorate all branches tags remotes reverse merges no-merges first-parent follow left-right cherry-pick cherry-mark date-order topo-order author-date-order full-history simplify-by-decoration abbrev-commit no-abbrev-commit parents children show-signature walk-reflogs boundary not stdin count no-walk mailmap use-mailmap no-expand-tabs show-notes no-notes invert-grep all-match regexp-ignore-case perl-regexp fixed-strings ancestry-path do-walk objects`
const logLongValued = `${diffLongValued} max-count skip since after until before author committer grep format pretty date decorate-refs min-parents max-parents glob exclude`

function table(short: string, valued: string, long: string, longValued: string): OptionTable {
  return { short, valued, long, longValued, danger: gitDanger }
}

/** Options that write a file or run a program, in whichever command they are. */
const gitDanger = {
  short: "O",
  long: "output ext-diff textconv open-files-in-pager upload-pack receive-pack exec template filters run",
}

const log = table(logShort, `${diffValued}nL`, logLong, logLongValued)
const diff = table(diffShort, diffValued, diffLong, diffLongValued)

/** Commands of git that change nothing with options of their tables. */
const reading: Record<string, OptionTable> = {
  status: table(
    "sbuvz",
    "",
    "short branch porcelain long verbose untracked-files ignored ignore-submodules no-renames ahead-behind no-ahead-behind show-stash column",
    "",
  ),
  log,
  show: log,
  whatchanged: log,
  reflog: log,
  "rev-list": log,
  shortlog: table(
    "sneco",
    "wn",
    "summary numbered email committer all no-merges",
    "since until group format author",
  ),
  diff,
  "diff-tree": { ...diff, short: `${diffShort}rtmcn`, long: `${diffLong} no-commit-id stdin always` },
  "diff-index": diff,
  "diff-files": diff,
  "rev-parse": table(
    "q",
    "",
    "abbrev-ref show-toplevel show-prefix show-cdup git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository short verify quiet symbolic-full-name symbolic absolute-git-dir all branches tags",
    "short",
  ),
  "ls-files": table(
    "cdomsutkvzf",
    "xX",
    "cached deleted modified others ignored stage unmerged killed directory no-empty-directory exclude-standard full-name error-unmatch deduplicate eol",
    "exclude with-tree abbrev",
  ),
  "ls-tree": table(
    "drtlz",
    "",
    "long name-only name-status full-name full-tree object-only",
    "abbrev format",
  ),
  "cat-file": table("tspe", "", "batch-check batch-all-objects", ""),
  blame: table(
    "bclwtfnsepMC",
    "LS",
    "root show-stats porcelain line-porcelain incremental date progress show-name show-number show-email",
    "since ignore-rev abbrev",
  ),
  describe: table(
    "",
    "",
    "all tags contains always long dirty broken exact-match first-parent",
    "abbrev match exclude candidates",
  ),
  "merge-base": table("a", "", "all octopus independent is-ancestor fork-point", ""),
  "name-rev": table("", "", "tags name-only always all", "refs"),
  "for-each-ref": table("", "", "", "count sort format points-at merged no-merged contains no-contains"),
  "show-ref": table("dqs", "", "head heads tags dereference quiet verify hash", "abbrev"),
  grep: table(
    "niIwvhHlLcpWEGFPqo",
    "eABCmf",
    "cached untracked line-number ignore-case files-with-matches count fixed-strings extended-regexp perl-regexp word-regexp show-function function-context heading break no-color and or not all-match name-only no-index",
    "max-depth context threads",
  ),
  "check-ignore": table("vnqz", "", "verbose non-matching quiet stdin no-index", ""),
  "count-objects": table("vH", "", "verbose human-readable", ""),
  version: table("", "", "build-options", ""),
  var: table("l", "", "", ""),
}

/** Reading only in the form that lists. */
const listing: Record<string, OptionTable> = {
  branch: table(
    "arvl",
    "",
    "all remotes list verbose show-current no-color column ignore-case",
    "contains no-contains merged no-merged points-at sort format color abbrev",
  ),
  tag: table(
    "ln",
    "",
    "list column ignore-case",
    "contains no-contains merged no-merged points-at sort format",
  ),
  remote: table("v", "", "verbose", ""),
  stash: { ...log, long: `${logLong} include-untracked` },
  config: table(
    "lz",
    "",
    "list get get-all get-regexp show-origin show-scope name-only local global system null type bool int",
    "",
  ),
  worktree: table("v", "", "porcelain verbose", ""),
  "symbolic-ref": table("q", "", "short quiet", ""),
}

/** Commands that may change any file of the work tree. */
const treeChanging = new Set(
  "reset clean stash apply am merge rebase pull cherry-pick revert switch checkout read-tree checkout-index bisect sparse-checkout submodule worktree filter-branch mergetool difftool".split(
    " ",
  ),
)

/** Commands that only change what git keeps for itself. */
const keeping = new Set(
  "add commit push fetch branch tag notes gc prune remote init update-index maintenance".split(" "),
)

export function judgeGit(words: readonly Word[]): Verdict {
  const call = readGit(words)
  const name = call.name?.value
  const directories: FileUse[] = call.directories.map((word) => ({ access: "directory", word }))
  if (name === undefined) {
    return verdict("runs", { files: directories, ...hiddenIn("git", call.dangerous) })
  }
  const judged = judgeSubcommand(name, call.words)
  const files = judged.files.map((file) => ({ ...file, word: below(call.directories, file.word) }))
  const before = hiddenIn("git", call.dangerous)
  return {
    ...judged,
    effect: before.hidden ? "runs" : judged.effect,
    files: [...directories, ...files],
    ...before,
    ...pick(judged, before),
  }
}

function pick(judged: Verdict, before: { hidden?: string }): { hidden?: string } {
  const hidden = before.hidden ?? judged.hidden
  return hidden === undefined ? {} : { hidden }
}

/** A path as seen from where `-C` leads. */
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

function judgeSubcommand(name: string, words: readonly Word[]): Verdict {
  const form = listsOnly(name, words)
  const known = Object.hasOwn(reading, name) ? reading[name] : form
  if (known) {
    const options = readOptions(words, known)
    const hidden = hiddenIn(`git ${name}`, options.dangerous)
    const plain = options.strange.length === 0 && !hidden.hidden
    return verdict(plain ? "reads" : "runs", { files: [...pathsIn(options), ...written(words)], ...hidden })
  }
  return judgeChanging(name, words)
}

/** The table of a command that is given in its listing form. */
function listsOnly(name: string, words: readonly Word[]): OptionTable | undefined {
  const known = Object.hasOwn(listing, name) ? listing[name] : undefined
  if (!known) return undefined
  const options = readOptions(words, known)
  if (options.strange.length > 0) return undefined
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

/** Revisions look like paths and are harmless as such; what leads outside is found by looking at it as a path. */
function pathsIn(options: Options): FileUse[] {
  const looked = options.operands.filter(
    (word) => word.home || /^\.{0,2}\/|^\.\.|\/\.\.(?:\/|$)/.test(word.value ?? word.prefix),
  )
  return reads([...looked, ...options.attached, ...valuesOf(options, "-f", "-O", "-S", "-X")])
}

/** `--output=file`, also cut short. */
function written(words: readonly Word[]): FileUse[] {
  return words.flatMap((word, index) => {
    const found = /^--outp?u?t?(?:=(.*))?$/s.exec(word.value ?? "")
    if (!found) return []
    return edits(found[1] === undefined ? words.slice(index + 1, index + 2) : [literalWord(found[1])])
  })
}

const transports = /^(?:ext|fd|[a-z0-9+.-]+)::/i

function judgeChanging(name: string, words: readonly Word[]): Verdict {
  const options = readOptions(words, {
    lenient: true,
    valued: "mCFbBcxuo",
    longValued: "message file source pathspec-from-file",
    danger: { long: "upload-pack receive-pack exec template" },
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
  ].includes(name)
  // `-u` names a program only where git reads from another repository.
  const packs = ["clone", "ls-remote", "fetch-pack", "archive"].includes(name) && hasOption(options, "-u")
  const dangerous = [
    ...options.dangerous,
    ...strange,
    ...(runsWords || runsOption || tool || packs ? words.slice(0, 2).map(shown) : []),
  ]
  const hidden = hiddenIn(`git ${name}`, dangerous)
  const outside = words.filter(
    (word) => word.home || /^\.{0,2}\/|\/\.\.(?:\/|$)|^\.\.$/.test(word.value ?? ""),
  )
  const files: FileUse[] = outside.map((word) => ({ access: "name", word }))
  if (name === "config") files.push(...edits([literalWord(".git/config")]))
  else if (name === "restore" || name === "rm" || name === "mv") files.push(...edits(options.operands))
  else if (name === "checkout" && words.some((word) => word.value === "--")) {
    files.push(...edits(words.slice(words.findIndex((word) => word.value === "--") + 1)))
  } else if (name === "clone") files.push(...edits(options.operands.slice(1)))
  else if (treeChanging.has(name)) files.push(editsAnything)
  else if (name === "format-patch" || name === "archive" || name === "bundle") {
    files.push(...edits(valuesOf(options, "-o")), editsAnything)
  }
  return verdict(keeping.has(name) ? "writes" : "runs", { files, ...hidden })
}
