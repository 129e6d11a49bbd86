import { literalWord, type Word } from "../parse/script.ts"
import { judgeBuiltin } from "../tables/builtins.ts"
import { codeOptions } from "../tables/code-options.ts"
import { judgeGit, readGit } from "../tables/git.ts"
import { hiddenIn, judgeReader } from "../tables/readers.ts"
import { judgeAwk, judgeFind, judgeSed } from "../tables/text-programs.ts"
import { judgeInterpreter, judgeWrapper } from "../tables/wrappers.ts"
import { judgeWriter } from "../tables/writers.ts"
import { namedFiles, type Verdict, verdict } from "./verdict.ts"

/** What a program or builtin does. `input` is the text that it is given to read. */
export function checkCommand(words: readonly Word[], input: Word | undefined): Verdict {
  const [first, ...rest] = words
  const written = first!.value!
  const name = baseName(written)
  const known =
    judgeBuiltin(name, rest) ??
    judgeWrapper(name, rest) ??
    judgeInterpreter(name, rest, input) ??
    special(name, rest) ??
    judgeReader(name, rest) ??
    judgeWriter(name, rest)
  if (!known) return verdict("runs", { files: namedFiles(rest), ...hiddenIn(name, codeOptions(name, rest)) })
  // A path may lead to any program, whatever its name.
  const usual = written === name || /^\/(?:usr\/(?:local\/)?)?s?bin\/[^/]+$/.test(written)
  if (usual) return known
  return { ...known, effect: "runs", files: [...known.files, { access: "name", word: first! }] }
}

/** True for the programs that have a judge of their own. */
export function isSpecial(name: string): boolean {
  return special(name, []) !== undefined
}

function special(name: string, words: readonly Word[]): Verdict | undefined {
  switch (name) {
    case "git":
      return judgeGit(words)
    case "find":
      return judgeFind(words)
    case "sed":
    case "gsed":
      return judgeSed(words)
    case "awk":
    case "gawk":
    case "mawk":
    case "nawk":
      return judgeAwk(words)
    default:
      return undefined
  }
}

/** A command as written, by its bare name, and for git without the options before its action. */
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
