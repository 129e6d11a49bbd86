// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell texts
import { chmod, mkdir, readdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import fc from "fast-check"
import { expect, test } from "vitest"
import type { Action, RulesInput } from "../../src/protocol/index.ts"
import { bashTool } from "../../src/tools/shell/bash.ts"
import { repeats, testSeed } from "../support/seed.ts"
import { type TestToolContext, toolContext } from "../support/tool-context.ts"

async function decision(command: string, context: TestToolContext): Promise<Action> {
  const actions = (await bashTool.wants({ command }, context)).map((wanted) => context.decide(wanted))
  return actions.includes("deny") ? "deny" : actions.includes("ask") ? "ask" : "allow"
}

const allowed = fc.constantFrom(
  "git status",
  "git status --short",
  "ls -la",
  "cat a.txt",
  "echo 'x y'",
  "true",
)
const hostileWords = fc.constantFrom(
  ["rm", "-rf", "x"],
  ["evil"],
  ["curl", "x"],
  ["git", "push"],
  ["node", "x.js"],
)

/** A word in one of the spellings that bash reads as the same word. */
function written(word: string): fc.Arbitrary<string> {
  const hex = `$'${[...word].map((letter) => `\\x${letter.charCodeAt(0).toString(16)}`).join("")}'`
  return fc.constantFrom(
    word,
    `'${word}'`,
    `"${word}"`,
    `\\${word}`,
    `${word[0]}''${word.slice(1)}`,
    `${word[0]}""${word.slice(1)}`,
    hex,
    `$'${word}'`,
  )
}

const hostile = hostileWords.chain(([name, ...rest]) =>
  fc
    .tuple(written(name!), fc.constantFrom(" ", "  ", "\t", " \\\n"))
    .map(([first, blank]) => [first, ...rest].join(blank)),
)

const wrapped = fc.tuple(
  hostile,
  fc.array(
    fc.constantFrom(
      (text: string) => `command ${text}`,
      (text: string) => `env ${text}`,
      (text: string) => `env A=1 ${text}`,
      (text: string) => `nohup ${text}`,
      (text: string) => `timeout 5 ${text}`,
      (text: string) => `nice -n 3 ${text}`,
      (text: string) => `time ${text}`,
      (text: string) => `xargs ${text}`,
      (text: string) => `find . -exec ${text} {} +`,
      (text: string) => `X=1 ${text}`,
      (text: string) => `>/dev/null ${text}`,
      (text: string) => `busybox ${text}`,
      (text: string) => `exec ${text}`,
    ),
    { maxLength: 3 },
  ),
)
const attack = wrapped.map(([text, wrappers]) => wrappers.reduce((inner, wrap) => wrap(inner), text))

const shaped = fc.tuple(
  attack,
  fc.constantFrom(
    (text: string) => text,
    (text: string) => `(${text})`,
    (text: string) => `{ ${text}; }`,
    (text: string) => `! ${text}`,
    (text: string) => `if true; then ${text}; fi`,
    (text: string) => `for i in 1; do ${text}; done`,
    (text: string) => `while true; do ${text}; done`,
    (text: string) => `f() { ${text}; }; f`,
    (text: string) => `(rm() { :; }; evil() { :; }); ${text}`,
    (text: string) => `evil() { :; }; unset -f evil; ${text}`,
    (text: string) => `declare -a x='($(${text}))'`,
    (text: string) => `x=(1); declare x='($(${text}))'`,
    (text: string) => `find . -maxdepth 0 -exec echo + ${text} {} \\;; ${text}`,
    (text: string) => `echo $(${text})`,
    (text: string) => `echo "$(${text})"`,
    (text: string) => `cat <(${text})`,
    (text: string) => `x=$(${text})`,
    (text: string) => `case a in a) ${text};; esac`,
    (text: string) => `cat <<EOF\n$(${text})\nEOF`,
    (text: string) => `sh <<EOF\n${text}\nEOF`,
    (text: string) => `trap ${JSON.stringify(text)} EXIT`,
    (text: string) => `eval ${JSON.stringify(text)}`,
    (text: string) => `bash -c ${JSON.stringify(text)}`,
    (text: string) => `echo \${x:-$(${text})}`,
    (text: string) => `echo $((1 + $(${text})))`,
  ),
)

test("an allowed command cannot hide a command that is not allowed", async () => {
  const rules: RulesInput = {
    "*": "allow",
    bash: {
      "*": "ask",
      "git status *": "allow",
      "ls *": "allow",
      "cat *": "allow",
      "echo *": "allow",
      "true *": "allow",
      "find *": "allow",
      "xargs *": "allow",
      "command *": "allow",
      "env *": "allow",
      "timeout *": "allow",
      "nice *": "allow",
      "time *": "allow",
      "nohup *": "allow",
      "busybox *": "allow",
      "exec *": "allow",
      "eval *": "allow",
      "trap *": "allow",
      "bash *": "allow",
      "sh *": "allow",
    },
  }
  await using context = await toolContext({ rules, git: true, files: { "a.txt": "a" } })
  expect(await decision("git status && ls -la | cat a.txt", context)).toBe("allow")
  const connector = fc.constantFrom(
    "; ",
    " && ",
    " || ",
    " | ",
    " |& ",
    " & ",
    "\n",
    "\n\n",
    ";",
    "&",
    "|",
    " # x\n",
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(allowed, { maxLength: 2 }),
      shaped,
      fc.array(allowed, { maxLength: 2 }),
      connector,
      async (before, [text, shape], after, join) => {
        // `git status&>/dev/null rm x` is one command, whose arguments are the words after the redirect.
        fc.pre(!(join === "&" && shape(text).startsWith(">")))
        const command = [...before, shape(text), ...after].join(join)
        expect(`${await decision(command, context)}: ${command}`).not.toMatch(/^allow/)
      },
    ),
    { ...testSeed("shell compositions"), numRuns: repeats({ test: 500, soak: 15_000 }) },
  )
})

test("bash never runs a denied program and never writes a file with a command that was allowed", async () => {
  const rules: RulesInput = {
    "*": "allow",
    edit: "ask",
    external_directory: "ask",
    bash: { "*": "allow", "evil *": "deny" },
  }
  await using context = await toolContext({ rules, git: true, files: { "a.txt": "a\n", "-x": "y\n" } })
  const bin = join(context.home, "bin")
  const trace = join(context.home, "evil-ran")
  await mkdir(bin)
  await writeFile(join(bin, "evil"), `#!/bin/sh\n: > '${trace}'\n`)
  await chmod(join(bin, "evil"), 0o755)
  context.environment = { PATH: `${bin}:${process.env.PATH}` }
  const files = (await readdir(context.root)).sort()

  const pieces = fc.constantFrom(
    ...[
      "git status",
      "ls",
      "echo",
      "cat",
      "true",
      "evil",
      "evil x",
      " ",
      " ",
      " ",
      "\n",
      ";",
      "&",
      "&&",
      "||",
      "|",
      "(",
      ")",
      "{ ",
      "; }",
      "$(",
      "`",
      "'",
      '"',
      "\\",
      "$",
      "$'",
      "\\'",
      "#",
      " #",
    ],
    ...[
      "<<EOF\n",
      "\nEOF\n",
      "<<'E'\n",
      "\nE\n",
      "<<-EOF\n",
      "\tEOF\n",
      ">f",
      "2>&1",
      ">&",
      "<(",
      ">(",
      "<<<",
      "((",
      "))",
      "[ ",
      " ]",
      "[[ ",
      " ]]",
      "if ",
      "then ",
      "fi",
      "do ",
      "done",
    ],
    ...[
      "for x in a; ",
      "case x in x)",
      "esac",
      ";;",
      " ! ",
      "x=",
      "x=1 ",
      "a.txt",
      "-x",
      "\\\n",
      "${x",
      "}",
      "${x:-",
      "$((",
      "{a,b}",
      "*",
      "~",
      "\t",
      "time ",
      "eval ",
      "export ",
      "EOF",
    ],
    ...[
      "\\\\",
      "''",
      '""',
      "=",
      "$x",
      "$@",
      "else ",
      "in ",
      "<",
      ">",
      "&>",
      "0",
      "1",
      "2",
      "a[",
      "]",
      "declare ",
      "declare -a x=",
      "'($(evil))'",
      "x=(1);",
      "evil() { :; };",
      "unset -f evil;",
      "find . -maxdepth 0 -exec ",
      " {} +",
      " + -name ",
      " \\;",
      "printf 'x%n' PATH;",
    ],
  )
  const text = fc
    .tuple(
      fc.array(pieces, { minLength: 1, maxLength: 8 }),
      fc.constantFrom("evil", " evil ", "$(evil)", "`evil`", ";evil;"),
      fc.nat(),
    )
    .map(([parts, evil, at]) => parts.toSpliced(at % (parts.length + 1), 0, evil).join(""))
  await fc.assert(
    fc.asyncProperty(text, async (command) => {
      if ((await decision(command, context)) !== "allow") return
      await bashTool.execute({ command, timeout: 5_000 }, context)
      const ran = await stat(trace).then(
        () => true,
        () => false,
      )
      expect({ command, ran, files: (await readdir(context.root)).sort() }).toEqual({
        command,
        ran: false,
        files,
      })
    }),
    { ...testSeed("shell texts"), numRuns: repeats({ test: 1000, soak: 30_000 }) },
  )
})
