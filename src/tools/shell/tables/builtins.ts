import { type CommandEffects, commandEffects, namedFiles } from "../analyse/command-effects.ts"
import { shown, type Word } from "../parse/script.ts"
import { readOptions } from "./options.ts"
import { variableKind } from "./variables.ts"

/** Names of bash builtins. A function with such a name would change the meaning of the rest of the text. */
export const builtinNames: ReadonlySet<string> = new Set(
  "cd pushd popd dirs eval source . trap export declare typeset readonly local unset read set alias unalias shopt enable hash let getopts mapfile readarray bind complete compgen compopt exec wait kill umask ulimit fc history disown suspend logout caller fg bg command builtin coproc command_not_found_handle".split(
    " ",
  ),
)

/** The effects of a builtin, except of those that change the directory. */
export function builtinEffects(name: string, words: readonly Word[]): CommandEffects | undefined {
  switch (name) {
    case "eval":
      return evalEffects(words)
    case "trap":
      return trapEffects(words)
    case "source":
    case ".":
      return commandEffects("runs", {
        files: [
          ...namedFiles(words),
          ...words.slice(0, 1).map((word) => ({ access: "read" as const, word })),
        ],
      })
    case "export":
    case "declare":
    case "typeset":
    case "readonly":
    case "local":
      return declareEffects(name, words)
    case "read":
      return readEffects(words)
    case "unset":
      return setsOnly(
        name,
        words.filter((word) => !/^-[fvn]$/.test(word.value ?? "")),
        ["harmless", "local", "unknown"],
      )
    case "set":
      return words.every((word) => /^(?:[-+][euxo]+|pipefail|errexit|nounset|xtrace)$/.test(word.value ?? ""))
        ? commandEffects("reads")
        : hidden(name, words)
    case "wait":
    case "umask":
    case "ulimit":
    case "dirs":
    case "caller":
      return words.every((word) => /^(?:-[SHaptfnuv]+|%?[0-9]+|unlimited)$/.test(word.value ?? "")) &&
        !words.some((word) => name === "wait" && word.value?.includes("p"))
        ? commandEffects("reads")
        : hidden(name, words)
    case "kill":
    case "fg":
    case "bg":
    case "disown":
      return commandEffects("runs")
    case "cd":
    case "pushd":
    case "popd":
    case "exec":
    case "command":
    case "builtin":
      return undefined
    default:
      return builtinNames.has(name) ? hidden(name, words) : undefined
  }
}

function hidden(name: string, words: readonly Word[]): CommandEffects {
  return commandEffects("runs", {
    hidden: `${[name, ...words.map(shown)].join(" ")} changes what later commands do.`,
  })
}

function evalEffects(words: readonly Word[]): CommandEffects {
  const values = words
    .filter((word) => word.value !== "--")
    .map((word) => (word.home ? undefined : word.value))
  if (values.includes(undefined))
    return commandEffects("runs", { hidden: "eval runs a text that is not known in advance." })
  return commandEffects("reads", { scripts: [values.join(" ")] })
}

function trapEffects(words: readonly Word[]): CommandEffects {
  const operands = words.filter((word) => word.value !== "--")
  const [action] = operands
  if (action === undefined || /^(?:-[lp]|-|\d+)?$/.test(action.value ?? "x")) return commandEffects("reads")
  if (action.value === undefined)
    return commandEffects("runs", { hidden: "trap runs a text that is not known in advance." })
  return commandEffects("reads", { scripts: [action.value], later: true })
}

/**
 * Declares variables by name, with or without a value. Arithmetic (`-i`), references (`-n`) and indexes evaluate their
 * content.
 */
function declareEffects(name: string, words: readonly Word[]): CommandEffects {
  const flags = words.filter((word) => /^[-+]/.test(word.value ?? word.prefix))
  if (flags.some((word) => !/^[-+][xrgaApfF]+$/.test(word.value ?? ""))) return hidden(name, words)
  const exported = name === "export" || flags.some((word) => word.value?.includes("x"))
  const variables = words.filter((word) => !flags.includes(word))
  const arrays = flags.some((word) => /[aA]/.test(word.value ?? ""))
  const plain = name === "export" || name === "readonly"
  if (variables.some((word) => maybeListText(word, { arrays, plain }))) return hidden(name, words)
  return setsOnly(name, variables, exported ? ["harmless"] : ["harmless", "local"])
}

/**
 * `declare x='(...)'`: the value of an array is parsed again as a list, with the substitutions in it. `export` and
 * `readonly` do so only with `-a` or `-A`.
 */
function maybeListText(word: Word, { arrays, plain }: { arrays: boolean; plain: boolean }): boolean {
  if (word.list || (word.value !== undefined && !word.value.includes("="))) return false
  if (arrays) return true
  const start = (word.value ?? word.prefix).replace(/^[^=]*=/, "")
  return !plain && (start.startsWith("(") || (start === "" && word.value === undefined))
}

function setsOnly(name: string, words: readonly Word[], kinds: string[]): CommandEffects {
  for (const word of words) {
    const [, variable] = /^([A-Za-z_]\w*)(?:\+?=|$)/.exec(word.value ?? word.prefix) ?? []
    if (variable === undefined || (word.value === undefined && !word.prefix.includes("=")))
      return hidden(name, words)
    const kind = variableKind(variable)
    if (kind === "steering") return hidden(name, words)
    if (!kinds.includes(kind)) return commandEffects("runs")
  }
  return commandEffects("reads")
}

function readEffects(words: readonly Word[]): CommandEffects {
  const options = readOptions(words, { short: "rse", valued: "ndNtup", danger: { short: "ia" } })
  if (options.unknown.length > 0 || options.dangerous.length > 0) return hidden("read", words)
  const plain = options.operands.every((word) => variableKind(word.value ?? "PATH") === "local")
  return plain ? commandEffects("reads") : hidden("read", words)
}
