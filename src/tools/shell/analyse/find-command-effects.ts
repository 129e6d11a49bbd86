import { literalWord, type Word } from "../parse/script.ts"
import { builtinEffects } from "../tables/builtins.ts"
import { codeOptions } from "../tables/code-options.ts"
import { gitEffects, readGit } from "../tables/git.ts"
import { hiddenIn, readerEffects } from "../tables/readers.ts"
import { awkEffects, findEffects, sedEffects } from "../tables/text-programs.ts"
import { interpreterEffects, wrapperEffects } from "../tables/wrappers.ts"
import { writerEffects } from "../tables/writers.ts"
import { type CommandEffects, commandEffects, namedFiles } from "./command-effects.ts"

/** The effects of a program or builtin. `input` is the text of its standard input, if known. */
export function findCommandEffects(words: readonly Word[], input: Word | undefined): CommandEffects {
  const [first, ...rest] = words
  const written = first!.value!
  const name = baseName(written)
  const known =
    builtinEffects(name, rest) ??
    wrapperEffects(name, rest) ??
    interpreterEffects(name, rest, input) ??
    specialEffects(name, rest) ??
    readerEffects(name, rest) ??
    writerEffects(name, rest)
  if (!known)
    return commandEffects("runs", { files: namedFiles(rest), ...hiddenIn(name, codeOptions(name, rest)) })
  // A path may lead to any program, whatever its name.
  const usual = written === name || /^\/(?:usr\/(?:local\/)?)?s?bin\/[^/]+$/.test(written)
  if (usual) return known
  return { ...known, effect: "runs", files: [...known.files, { access: "name", word: first! }] }
}

/** True for programs that have their own function for effects. */
export function hasSpecialEffects(name: string): boolean {
  return specialEffects(name, []) !== undefined
}

function specialEffects(name: string, words: readonly Word[]): CommandEffects | undefined {
  switch (name) {
    case "git":
      return gitEffects(words)
    case "find":
      return findEffects(words)
    case "sed":
    case "gsed":
      return sedEffects(words)
    case "awk":
    case "gawk":
    case "mawk":
    case "nawk":
      return awkEffects(words)
    default:
      return undefined
  }
}

/** A command as written, with its bare name, and for git without the options before its subcommand. */
export function formsOf(words: readonly Word[]): Word[][] {
  const [first, ...rest] = words
  const forms = [[...words]]
  if (first?.value === undefined) return forms
  const bare = literalWord(baseName(first.value))
  if (bare.value !== first.value) forms.push([bare, ...rest])
  if (bare.value === "git") {
    const { name, words: after } = readGit(rest)
    if (name && rest[0] !== name) forms.push([bare, name, ...after])
  }
  return forms
}

function baseName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1)
}
