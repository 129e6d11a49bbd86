/** Variables that only change how output looks, or that programs only use as a hint. */
const harmless = new Set(
  "CI LANG LANGUAGE TZ TERM COLUMNS LINES FORCE_COLOR NO_COLOR CLICOLOR NODE_ENV RUST_BACKTRACE DEBUG VERBOSE".split(
    " ",
  ),
)

/**
 * Variables that change which programs run, what they load or where they look, and variables that bash evaluates when
 * they are set.
 */
const steering =
  /^(?:PATH|IFS|ENV|HOME|PWD|OLDPWD|SHELL|VISUAL|BROWSER|TMPDIR|CDPATH|PS[0-4]|PROMPT_COMMAND|GLOBIGNORE|EXECIGNORE|SHELLOPTS|POSIXLY_CORRECT|NODE_PATH|MAKEFLAGS|LOCPATH|OPTIND|REPLY|TMOUT|_|RANDOM|SRANDOM|SECONDS|LINENO|HIST.*|PPID|E?UID|FUNCNEST|EPOCH.*|COMP_.*|DIRSTACK|GROUPS|PIPESTATUS|FUNCNAME|MAPFILE|COMPREPLY|COPROC|READLINE_.*|BASH.*|LD_.*|DYLD_.*|GIT_.*|SSH_.*|XDG_.*|PYTHON.*|PERL.*|RUBY.*|GEM_.*|JAVA_.*|CARGO_.*|RUST(?!_BACKTRACE).*|GO.*|LESS.*|MAN.*|npm_.*|.*PAGER|.*EDITOR|.*_?proxy|.*OPTIONS|.*OPTS|.*FLAGS|.*_CONFIG.*|.*_PATH)$/i

export type VariableKind = "harmless" | "steering" | "local" | "unknown"

/**
 * What setting a variable may do. A lower-case name is a variable of the shell itself, as long as it is not exported.
 */
export function variableKind(name: string): VariableKind {
  if (harmless.has(name) || /^LC_[A-Z]+$/.test(name)) return "harmless"
  if (steering.test(name)) return "steering"
  return /^[a-z][a-z0-9_]*$/.test(name) ? "local" : "unknown"
}
