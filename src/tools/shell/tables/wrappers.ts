import { type CommandEffects, commandEffects, edits, namedFiles, reads } from "../analyse/command-effects.ts"
import { unknownWord, type Word } from "../parse/script.ts"
import { hasOption, type OptionTable, readLeading, valuesOf } from "./options.ts"
import { hiddenIn } from "./readers.ts"
import { variableKind } from "./variables.ts"

interface Wrapper extends OptionTable {
  /** How many operands come before the command that it starts. */
  operands?: number
  /** True if it does more than start the command. */
  runs?: boolean
}

/** Commands that start the command after them. */
const wrappers: Record<string, Wrapper> = {
  nohup: {},
  setsid: { short: "cfw", long: "ctty fork wait" },
  command: { short: "p" },
  builtin: {},
  exec: { short: "cl", valued: "a" },
  time: { short: "pv" },
  timeout: {
    short: "v",
    valued: "ks",
    long: "foreground preserve-status verbose",
    longValued: "kill-after signal",
    operands: 1,
  },
  nice: { short: "0123456789", valued: "n", longValued: "adjustment" },
  ionice: { short: "t", valued: "cn", longValued: "class classdata" },
  stdbuf: { valued: "ioe", longValued: "input output error" },
  busybox: {},
  toybox: {},
  sudo: { short: "AbEeHKknPSsiV", valued: "ugCDhpRrTtU", runs: true },
  doas: { short: "Lns", valued: "uC", runs: true },
}

/** Commands that start other commands in ways that are not analysed. */
const launchers = new Set(
  "parallel flock watch strace ltrace gdb script unshare nsenter chroot su runuser setpriv systemd-run entr at batch crontab start-stop-daemon taskset chrt proot fakeroot firejail bwrap expect screen tmux dtach ssh sshpass rsh mosh".split(
    " ",
  ),
)

export const wrapperNames: ReadonlySet<string> = new Set([
  ...Object.keys(wrappers),
  ...launchers,
  "env",
  "xargs",
])

export function wrapperEffects(name: string, words: readonly Word[]): CommandEffects | undefined {
  if (name === "env") return envEffects(words)
  if (name === "xargs") return xargsEffects(words)
  if (name === "command" && /^-[vV]$/.test(words[0]?.value ?? "")) return commandEffects("reads")
  if (launchers.has(name)) {
    return commandEffects("runs", {
      files: namedFiles(words),
      hidden: `${name} starts commands in a way that cannot be checked.`,
    })
  }
  if (!Object.hasOwn(wrappers, name)) return undefined
  const wrapper = wrappers[name]!
  const { options, rest } = readLeading(words, wrapper)
  const inner =
    name === "sudo" || name === "doas" ? rest.slice(assignmentsIn(rest)) : rest.slice(wrapper.operands ?? 0)
  const skipped = rest.slice(0, rest.length - inner.length)
  const strange = [
    ...options.dangerous,
    ...options.unknown,
    ...skipped.filter((word) => word.value === undefined).map((word) => word.source),
  ]
  return commandEffects(wrapper.runs ? "runs" : "reads", {
    commands: inner.length > 0 ? [{ words: inner }] : [],
    ...hiddenIn(name, wrapper.runs && skipped.length > 0 ? [...strange, skipped[0]!.source] : strange),
  })
}

function assignmentsIn(words: readonly Word[]): number {
  const first = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word.value ?? word.prefix))
  return first < 0 ? words.length : first
}

function envEffects(words: readonly Word[]): CommandEffects {
  const { options, rest } = readLeading(words, {
    short: "i0v",
    valued: "uC",
    long: "ignore-environment null debug",
    longValued: "unset chdir",
    danger: { short: "S", long: "split-string" },
  })
  const count = assignmentsIn(rest)
  const kinds = rest.slice(0, count).map((word) => variableKind((word.value ?? word.prefix).split("=")[0]!))
  const elsewhere = hasOption(options, "-C", "--chdir")
  const steering = rest.slice(0, count).filter((_, index) => kinds[index] === "steering")
  // Without the variables that the shell was started with, git is no longer prevented from running programs.
  const bare = hasOption(options, "-i", "-u", "--ignore-environment", "--unset") || words[0]?.value === "-"
  const unknown = (bare || kinds.some((kind) => kind !== "harmless")) && rest.length > count
  return commandEffects(unknown ? "runs" : "reads", {
    files: valuesOf(options, "-C", "--chdir").map((word) => ({ access: "directory", word })),
    commands: rest.length > count ? [{ words: rest.slice(count), ...(elsewhere ? { elsewhere } : {}) }] : [],
    ...hiddenIn("env", [...options.dangerous, ...options.unknown, ...steering.map((word) => word.source)]),
  })
}

function xargsEffects(words: readonly Word[]): CommandEffects {
  const { options, rest } = readLeading(words, {
    short: "0rtxo",
    valued: "IdnLPsaEe",
    long: "null no-run-if-empty verbose exit",
    longValued: "replace delimiter max-args max-lines max-procs max-chars arg-file eof",
    danger: { short: "i", long: "interactive" },
  })
  const marks = valuesOf(options, "-I", "--replace").map((word) => word.value)
  // The words from the input may be any file and any option.
  const input = unknownWord("")
  const inner =
    marks.length > 0
      ? rest.map((word) =>
          marks.some((mark) => mark === undefined || word.value?.includes(mark))
            ? unknownWord(word.source)
            : word,
        )
      : [...rest, input]
  return commandEffects("reads", {
    files: reads(valuesOf(options, "-a", "--arg-file")),
    commands: rest.length > 0 ? [{ words: inner }] : [],
    ...hiddenIn("xargs", [...options.dangerous, ...options.unknown]),
  })
}

const shells = new Set("sh bash dash ash ksh mksh rbash".split(" "))
/** Shells that parse a text differently from bash. */
const otherShells = new Set("zsh fish csh tcsh rc es elvish nu xonsh pwsh powershell".split(" "))
const interpreters = new Set(
  "python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua luajit tclsh Rscript osascript julia ghci irb iex groovy scala swift".split(
    " ",
  ),
)
const editors = new Set("vi vim nvim view ex ed red nano pico emacs micro less more most man".split(" "))

export const interpreterNames: ReadonlySet<string> = new Set([
  ...shells,
  ...otherShells,
  ...interpreters,
  ...editors,
])

/** Programs that run code. The text that a shell gets is parsed as a script. */
export function interpreterEffects(
  name: string,
  words: readonly Word[],
  input: Word | undefined,
): CommandEffects | undefined {
  const base = name.replace(/[0-9.]+$/, "")
  if (shells.has(name)) return shellEffects(words, input)
  if (otherShells.has(name))
    return commandEffects("runs", {
      files: namedFiles(words),
      hidden: `What ${name} does with a text is not known in advance.`,
    })
  if (editors.has(name))
    return commandEffects("runs", {
      files: [...namedFiles(words), ...edits(words.filter((word) => !/^[-+]/.test(word.value ?? "")))],
    })
  if (!interpreters.has(name) && !interpreters.has(base)) return undefined
  const inPlace =
    ["perl", "ruby"].includes(base) && words.some((word) => /^-[a-zA-Z0-9]*i/.test(word.value ?? ""))
  const operands = words.filter(
    (word, index) => !/^-/.test(word.value ?? "") && !/^-[a-zA-Z]*[eE]$/.test(words[index - 1]?.value ?? ""),
  )
  return commandEffects("runs", { files: [...namedFiles(words), ...(inPlace ? edits(operands) : [])] })
}

function shellEffects(words: readonly Word[], input: Word | undefined): CommandEffects {
  const at = words.findIndex((word) => /^-[a-z]*c[a-z]*$/.test(word.value ?? ""))
  const files = namedFiles(words.filter((_, index) => index !== at + 1 || at < 0))
  const unknown = commandEffects("runs", {
    files,
    hidden: "A shell runs a text that is not known in advance.",
  })
  const first = words.findIndex((word) => !/^[-+]/.test(word.value ?? word.prefix) || word.home)
  const options = words.slice(0, first < 0 ? words.length : first)
  // Other options take the next word as their value, or as a file of commands.
  const plain = options.every((word) =>
    /^(?:-[abcefhilmnprstuvxBCEHP]+|--(?:login|noprofile|norc|posix|verbose)?|[-+]x)$/.test(word.value ?? ""),
  )
  if (at >= 0 && (first < 0 || at < first)) {
    const script = words[first]?.value
    return script === undefined || !plain ? unknown : commandEffects("runs", { files, scripts: [script] })
  }
  if (!plain) return unknown
  if (first >= 0 && !options.some((word) => /^-[a-z]*s/.test(word.value ?? ""))) {
    const file = words[first]!
    if (/^\/(?:dev|proc)\//.test(file.value ?? "")) return unknown
    return commandEffects("runs", { files: [...files, ...reads([file])] })
  }
  return input?.value === undefined ? unknown : commandEffects("runs", { files, scripts: [input.value] })
}
