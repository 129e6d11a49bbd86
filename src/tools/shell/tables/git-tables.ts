import type { OptionTable } from "./options.ts"

const diffShort = "pusRwbzaBDMW"
const diffValued = "USGlO"
const diffLong =
  "patch no-patch stat numstat shortstat dirstat summary name-only name-status no-color color color-words word-diff minimal patience histogram raw full-index binary no-renames find-renames check exit-code quiet cached staged merge-base ignore-all-space ignore-space-change ignore-blank-lines ignore-space-at-eol function-context no-ext-diff no-textconv text pickaxe-all pickaxe-regex relative no-index no-prefix compact-summary root cc"
const diffLongValued =
  "unified diff-filter diff-algorithm word-diff-regex inter-hunk-context abbrev src-prefix dst-prefix"
const logShort = `${diffShort}nign0123456789cmtrEFP`
const logLong = `${diffLong} oneline graph decorate no-decorate all branches tags remotes reverse merges no-merges first-parent follow left-right cherry-pick cherry-mark date-order topo-order author-date-order full-history simplify-by-decoration abbrev-commit no-abbrev-commit parents children walk-reflogs boundary not stdin count no-walk mailmap use-mailmap no-expand-tabs show-notes no-notes invert-grep all-match regexp-ignore-case perl-regexp fixed-strings ancestry-path do-walk objects`
const logLongValued = `${diffLongValued} max-count skip since after until before author committer grep format pretty date decorate-refs min-parents max-parents glob exclude`

function table(short: string, valued: string, long: string, longValued: string): OptionTable {
  return { short, valued, long, longValued, danger: gitDanger }
}

/** Options that write a file or run a program, in any subcommand. */
const gitDanger = {
  short: "O",
  long: "output ext-diff textconv open-files-in-pager upload-pack receive-pack exec template filters run",
}

const log = table(logShort, `${diffValued}nL`, logLong, logLongValued)
const diff = table(diffShort, diffValued, diffLong, diffLongValued)

/** Git subcommands that change nothing with the options of their tables. */
export const gitReading: Record<string, OptionTable> = {
  status: table(
    "sbuvz",
    "",
    "short branch porcelain long verbose untracked-files ignored ignore-submodules no-renames ahead-behind no-ahead-behind show-stash column",
    "",
  ),
  log,
  show: log,
  whatchanged: log,
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

/** Subcommands that read only in their listing form. */
export const gitListing: Record<string, OptionTable> = {
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
  reflog: log,
  "symbolic-ref": table("q", "", "short quiet", ""),
}

/** Subcommands that may change any file of the work tree. */
export const treeChanging = new Set(
  "reset clean stash apply am merge rebase pull cherry-pick revert switch checkout read-tree checkout-index bisect sparse-checkout submodule worktree filter-branch mergetool difftool".split(
    " ",
  ),
)

/** Subcommands that write files whose names come from a patch or from the index, wherever these lead. */
export const fromInput = new Set("apply am checkout-index".split(" "))

/** Subcommands that change only the repository. */
export const repositoryOnly = new Set(
  "add commit push fetch branch tag notes gc prune remote init update-index maintenance".split(" "),
)
