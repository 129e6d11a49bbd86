import { posix } from "node:path"
import type { Parsed } from "../parse/parse.ts"
import {
  type Assignment,
  literalWord,
  type Redirect,
  type Script,
  type SimpleCommand,
  type Statement,
  shown,
  unknownWord,
  type Word,
} from "../parse/script.ts"
import { alwaysPattern } from "../tables/arity.ts"
import { builtinNames } from "../tables/builtins.ts"
import { readerNames } from "../tables/readers.ts"
import { variableKind } from "../tables/variables.ts"
import { interpreterNames, wrapperNames } from "../tables/wrappers.ts"
import { writerNames } from "../tables/writers.ts"
import { type CommandEffects, commandEffects, type FileUse, namedFiles } from "./command-effects.ts"
import { findCommandEffects, formsOf, hasSpecialEffects } from "./find-command-effects.ts"

/** What bash would do if it ran the text. */
export interface ShellWants {
  commands: CommandWant[]
  files: FileWant[]
  /** Why the text could not be analysed. The commands and files are then incomplete. */
  unparsed?: string
}

export interface CommandWant {
  /**
   * The command as written, without quotation marks, and with the program's bare name. A rule must permit all of them.
   */
  patterns: string[]
  always: string[]
  effect: CommandEffects["effect"]
  /** Why the command asks whatever the rules say. */
  hidden?: string
  /** True if the command has no effect of its own beside other commands: then only a rule that denies it counts. */
  quiet?: true
}

export interface FileWant extends FileUse {
  /** The directories that a relative path may start from; undefined if it may be any directory. */
  directories: string[] | undefined
  command: string
}

export interface AnalyseOptions {
  /** The directory in which the text starts: a real path. */
  directory: string
  /** The home directory that `~` stands for. */
  home: string
  parse(text: string): Parsed
}

/** The directories that a shell may be in; undefined if it may be any directory. */
type Directories = string[] | undefined
interface After {
  done: Directories
  failed: Directories
}

/** `time { rm x; }`: after a word that starts commands, bash continues with its syntax. */
const syntax = /^(?:[{}!]|if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|coproc|in)$/

const quietNames = new Set("cd : true false test [ [[ exit return break continue set wait read".split(" "))

const directoriesMax = 8
const depthMax = 12

export function analyse(parsed: Parsed, options: AnalyseOptions): ShellWants {
  if ("unparsed" in parsed) return { commands: [], files: [], unparsed: parsed.unparsed }
  const analysis = new Analysis(options)
  analysis.script(parsed.script, [options.directory])
  if (analysis.unparsed !== undefined)
    return { commands: analysis.commands, files: analysis.files, unparsed: analysis.unparsed }
  return { commands: analysis.commands, files: analysis.files }
}

class Analysis {
  readonly commands: CommandWant[] = []
  readonly files: FileWant[] = []
  unparsed: string | undefined
  private readonly options: AnalyseOptions
  /** All bodies of each function name. Which of them runs, if any, is not tracked. */
  private readonly functions = new Map<string, Statement[]>()
  private depth = 0

  constructor(options: AnalyseOptions) {
    this.options = options
  }

  script(script: Script, directories: Directories): After {
    return this.statement({ kind: "sequence", items: script }, directories)
  }

  private statement(statement: Statement, at: Directories): After {
    switch (statement.kind) {
      case "command":
        return this.command(statement, at)
      case "sequence": {
        let after: After = { done: at, failed: at }
        let current = at
        for (const item of statement.items) {
          after = this.statement(item, current)
          current = union(after.done, after.failed)
        }
        return after
      }
      case "and": {
        const left = this.statement(statement.left, at)
        const right = this.statement(statement.right, left.done)
        return { done: right.done, failed: union(left.failed, right.failed) }
      }
      case "or": {
        const left = this.statement(statement.left, at)
        const right = this.statement(statement.right, left.failed)
        return { done: union(left.done, right.done), failed: right.failed }
      }
      case "not": {
        const { done, failed } = this.statement(statement.body, at)
        return { done: failed, failed: done }
      }
      case "isolated":
        return this.isolated(statement.bodies, at)
      case "loop":
        return this.loop(statement, at)
      case "branch":
        return this.branch(statement, at)
      case "function":
        return this.define(statement, at)
      case "redirected":
        this.redirects(statement.redirects, { at, command: "A redirect" })
        return this.statement(statement.body, at)
    }
  }

  /**
   * The parser's boundary between a pipe and a list is not relied on: a `cd` in a pipe may affect the commands after
   * it.
   */
  private isolated(bodies: Statement[], at: Directories): After {
    const ends = bodies.map((body) => this.statement(body, at))
    const all = ends.reduce<Directories>((sum, end) => union(sum, union(end.done, end.failed)), at)
    return { done: all, failed: all }
  }

  private loop(statement: Extract<Statement, { kind: "loop" }>, at: Directories): After {
    this.substitutions(statement.words, at)
    if (statement.variable)
      this.assignments([{ name: statement.variable, source: statement.variable, substitutions: [] }], at)
    const mark = { commands: this.commands.length, files: this.files.length }
    const once = this.statement(statement.body, at)
    const end = union(at, union(once.done, once.failed))
    if (same(at, end)) return { done: at, failed: at }
    // The next iteration may start in another directory, and so may everything after the loop.
    this.commands.length = mark.commands
    this.files.length = mark.files
    this.statement(statement.body, undefined)
    return { done: undefined, failed: undefined }
  }

  private branch(statement: Extract<Statement, { kind: "branch" }>, at: Directories): After {
    this.substitutions(statement.words, at)
    const condition = statement.condition ? this.statement(statement.condition, at) : { done: at, failed: at }
    const start = union(condition.done, condition.failed)
    const ends = statement.bodies.map((body) => this.statement(body, start))
    const all = ends.reduce<Directories>((sum, end) => union(sum, union(end.done, end.failed)), start)
    return { done: all, failed: all }
  }

  private define(statement: Extract<Statement, { kind: "function" }>, at: Directories): After {
    const { name, body } = statement
    const known = [builtinNames, readerNames, writerNames, wrapperNames, interpreterNames].some((names) =>
      names.has(name),
    )
    if (known || hasSpecialEffects(name)) {
      this.unparsed ??= `A function replaces ${name}.`
    }
    this.functions.set(name, [...(this.functions.get(name) ?? []), body])
    this.deeper(() => this.statement(body, at))
    return { done: at, failed: at }
  }

  private deeper<Result>(action: () => Result): Result | undefined {
    if (this.depth >= depthMax) {
      this.unparsed ??= "Commands are nested too deeply."
      return undefined
    }
    this.depth++
    try {
      return action()
    } finally {
      this.depth--
    }
  }

  private substitutions(words: readonly Word[], at: Directories): void {
    for (const script of words.flatMap((word) => word.substitutions))
      this.deeper(() => this.script(script, at))
  }

  /** Variables that are set for the rest of the shell. */
  private assignments(assignments: readonly Assignment[], at: Directories): void {
    for (const { name, source, substitutions } of assignments) {
      for (const script of substitutions) this.deeper(() => this.script(script, at))
      const kind = variableKind(name)
      if (kind === "harmless" || kind === "local") continue
      this.commands.push({
        patterns: [source],
        always: [],
        effect: "runs",
        ...(kind === "steering" ? { hidden: `Setting ${name} changes what later commands do.` } : {}),
      })
    }
  }

  private redirects(
    redirects: readonly Redirect[],
    { at, command }: { at: Directories; command: string },
  ): void {
    this.substitutions(
      redirects.map((redirect) => redirect.target),
      at,
    )
    for (const { access, target } of redirects) {
      if (access === "text" || /^\/dev\/(?:null|stdout|stderr|stdin|tty|fd\/[0-9])$/.test(target.value ?? ""))
        continue
      if (target.pipe) continue
      this.files.push({ access, word: target, directories: at, command })
    }
  }

  private command(command: SimpleCommand, at: Directories): After {
    const { words, assignments, redirects } = command
    this.substitutions(words, at)
    this.redirects(redirects, { at, command: words[0] ? shown(words[0]) : "A redirect" })
    if (words.length === 0) {
      this.assignments(assignments, at)
      return { done: at, failed: at }
    }
    for (const script of assignments.flatMap((one) => one.substitutions))
      this.deeper(() => this.script(script, at))
    const input = redirects.findLast((redirect) => redirect.access === "text")?.target
    return this.call(words, { at, assignments, input })
  }

  /** One program, builtin or function with its arguments. */
  private call(words: readonly Word[], { at, assignments, input }: Call): After {
    const [first, ...rest] = words
    const name = first?.value === undefined || first.home ? undefined : first.value
    const stays = { done: at, failed: at }
    if (name === undefined || name === "" || syntax.test(name)) {
      this.want(
        words,
        commandEffects("runs", {
          files: namedFiles(rest),
          hidden: "The name of a command is not known before it runs.",
        }),
        { at, assignments },
      )
      return stays
    }
    const bodies = this.functions.get(name) ?? []
    if (bodies.length > 0) {
      const called = bodies.map((body) => this.deeper(() => this.statement(body, at)))
      // The function may have been unset or never defined: then the name is a program's.
      this.want(words, findCommandEffects(words, input), { at, assignments })
      return called.reduce<After>(
        (sum, end) => ({ done: union(sum.done, end?.done), failed: union(sum.failed, end?.failed) }),
        stays,
      )
    }
    if (name === "cd") return this.changeDirectory(rest, { at, assignments, input })
    if (name === "pushd" || name === "popd") {
      this.want(words, commandEffects("reads"), { at, assignments })
      this.files.push({
        access: "directory",
        word: unknownWord(shown(first!)),
        directories: undefined,
        command: name,
      })
      return { done: undefined, failed: undefined }
    }
    const effects = findCommandEffects(words, input)
    this.want(words, effects, { at, assignments })
    let after: After = stays
    for (const inner of effects.commands) {
      const done = this.deeper(() =>
        this.call(inner.words, { at: inner.elsewhere ? undefined : at, assignments: [], input }),
      )
      if (!inner.elsewhere && done)
        after = { done: union(after.done, done.done), failed: union(after.failed, done.failed) }
    }
    for (const text of effects.scripts) {
      const end = this.text(text, effects.later ? undefined : at)
      if (!effects.later) after = end
    }
    return after
  }

  /** A text that is passed to a shell. */
  private text(text: string, at: Directories): After {
    const parsed = this.options.parse(text)
    if ("unparsed" in parsed) {
      this.unparsed ??= parsed.unparsed
      return { done: undefined, failed: undefined }
    }
    const end = this.deeper(() => this.script(parsed.script, at))
    const all = end ? union(at, union(end.done, end.failed)) : undefined
    return { done: all, failed: all }
  }

  /** `cd` is followed as bash does it: by name, so that `..` removes the last component. */
  private changeDirectory(words: readonly Word[], call: Call): After {
    const { at } = call
    this.want([literalWord("cd"), ...words], commandEffects("reads"), call)
    const operands = words.filter((word) => !/^(?:--|-L)$/.test(word.value ?? ""))
    const target = operands.length === 0 ? { ...literalWord(""), home: true } : operands[0]!
    const certain = operands.length < 2 && target.value !== undefined && !/^-/.test(target.value)
    // Bash resolves `a/..` by name only if `a` exists.
    const winding = /(?:^|\/)(?!\.\.?(?:\/|$))[^/]+\/(?:.*\/)?\.\.(?:\/|$)/.test(target.value ?? "")
    if (!certain || winding || (target.value === "" && !target.home)) {
      this.files.push({
        access: "directory",
        word: unknownWord(shown(target)),
        directories: undefined,
        command: "cd",
      })
      return { done: undefined, failed: at }
    }
    this.files.push({ access: "directory", word: target, directories: at, command: "cd" })
    const path = target.home ? `${this.options.home}${target.value}` : target.value!
    if (path.startsWith("/")) return { done: [posix.normalize(path)], failed: at }
    return { done: limited(at?.map((directory) => posix.normalize(`${directory}/${path}`))), failed: at }
  }

  private want(
    words: readonly Word[],
    effects: CommandEffects,
    { at, assignments }: Pick<Call, "at" | "assignments">,
  ): void {
    const set = assignments.filter((one) => variableKind(one.name) !== "harmless")
    const steering = set.find((one) => variableKind(one.name) === "steering")
    const hidden = steering
      ? `Setting ${steering.name} changes what ${shown(words[0]!)} does.`
      : effects.hidden
    const forms = formsOf(words)
    const patterns = new Set<string>()
    if (set.length > 0) patterns.add([...set.map((one) => one.source), ...words.map(shown)].join(" "))
    for (const form of forms) patterns.add(form.map(shown).join(" ").trim())
    const always = set.length > 0 || hidden ? [] : forms.map(alwaysPattern)
    const quiet =
      quietNames.has(words[0]?.value ?? "") && effects.effect === "reads" && !hidden && set.length === 0
    this.commands.push({
      patterns: [...patterns],
      always: always.includes(undefined) ? [] : [...new Set(always as string[])],
      effect: set.length > 0 ? "runs" : effects.effect,
      ...(hidden === undefined ? {} : { hidden }),
      ...(quiet ? { quiet } : {}),
    })
    for (const file of effects.files) this.files.push({ ...file, directories: at, command: shown(words[0]!) })
  }
}

interface Call {
  at: Directories
  assignments: readonly Assignment[]
  input?: Word | undefined
}

function union(a: Directories, b: Directories): Directories {
  return a === undefined || b === undefined ? undefined : limited([...new Set([...a, ...b])])
}

function limited(directories: Directories): Directories {
  return directories !== undefined && directories.length > directoriesMax ? undefined : directories
}

function same(a: Directories, b: Directories): boolean {
  return a?.length === b?.length && (a ?? []).every((one) => b!.includes(one))
}
