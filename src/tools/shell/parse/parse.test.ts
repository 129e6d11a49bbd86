// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell texts
import { beforeAll, describe, expect, test } from "vitest"
import { loadParse, type Parsed } from "./parse.ts"
import type { SimpleCommand, Statement } from "./script.ts"

let parse: (text: string) => Parsed
beforeAll(async () => {
  parse = await loadParse()
})

function only(text: string): SimpleCommand {
  const parsed = parse(text)
  if ("unparsed" in parsed) throw new Error(parsed.unparsed)
  const [statement] = parsed.script
  if (statement?.kind !== "command" || parsed.script.length !== 1) throw new Error("It is not one command.")
  return statement
}

/** The values of the words; null where bash expands something. */
function valuesOf(text: string): (string | null)[] {
  return only(text).words.map((word) => word.value ?? null)
}

describe("words have the values that bash gives them", () => {
  test.each<[string, (string | null)[]]>([
    ["echo a b", ["echo", "a", "b"]],
    ["echo 'a b' \"c d\"", ["echo", "a b", "c d"]],
    ["echo a'b'\"c\"d\\e", ["echo", "abcde"]],
    ['echo "a\\"b\\$c\\\\d\\e"', ["echo", 'a"b$c\\d\\e']],
    ["echo $'a\\n\\x41\\102\\u0043\\''", ["echo", "a\nABC'"]],
    ["echo ''", ["echo", ""]],
    ["echo \\;", ["echo", ";"]],
    ["echo a\\ b", ["echo", "a b"]],
    ["echo -- -x", ["echo", "--", "-x"]],
    ["echo {} {a", ["echo", "{}", "{a"]],
    ["echo a#b", ["echo", "a#b"]],
    ["echo é 中 😀 x", ["echo", "é", "中", "😀", "x"]],
    ["echo 'a\nb'", ["echo", "a\nb"]],
    ["echo a \\\n  b", ["echo", "a", "b"]],
    ['echo $x "$x" ${x} $(ls) `ls` $((1+2)) {a,b} * ~u <(ls)', ["echo", ...Array<null>(10).fill(null)]],
    ["> f cat a", ["cat", "a"]],
    ["cat > f a b", ["cat", "a", "b"]],
    ["cat <<EOF a b\nx\nEOF", ["cat", "a", "b"]],
  ])("%j", (text, words) => {
    expect(valuesOf(text)).toEqual(words)
  })

  test("a pattern keeps quoted characters escaped", () => {
    expect(only("ls a'*'*.ts").words[1]).toMatchObject({ glob: "a\\**.ts", prefix: "a*", splits: true })
  })

  test("an unquoted ~ is the home directory and a quoted one is not", () => {
    expect(only("ls ~/x").words[1]).toMatchObject({ home: true, value: "/x" })
    expect(only("ls '~/x'").words[1]).toMatchObject({ value: "~/x" })
    expect(only("ls '~/x'").words[1]).not.toHaveProperty("home")
  })

  test("a heredoc's text is known if it has no expansions", () => {
    const textOf = (text: string) => only(text).redirects[0]?.target.value
    expect(textOf("cat <<EOF\na\nb\nEOF\n")).toBe("a\nb\n")
    expect(textOf("cat <<'EOF'\n$x $(rm)\nEOF")).toBe("$x $(rm)\n")
    expect(textOf("cat <<-EOF\n\t\ta\n\tEOF")).toBe("a\n")
    expect(textOf("cat <<EOF\n$x\nEOF")).toBeUndefined()
    expect(textOf("cat <<<'a b'")).toBe("a b")
  })
})

test("statements keep their order and their nesting", () => {
  const names = (statement: Statement): unknown => {
    switch (statement.kind) {
      case "command":
        return statement.words[0]?.value ?? "="
      case "sequence":
        return statement.items.map(names)
      case "and":
      case "or":
        return { [statement.kind]: [names(statement.left), names(statement.right)] }
      case "not":
      case "function":
      case "redirected":
        return { [statement.kind]: names(statement.body) }
      case "loop":
        return { loop: names(statement.body) }
      case "branch":
        return {
          branch: [statement.condition ? names(statement.condition) : [], ...statement.bodies.map(names)],
        }
      case "isolated":
        return { isolated: statement.bodies.map(names) }
    }
  }
  const parsed = parse(
    "a && b || ! c; d | e & (f)\nif g; then h; else i; fi; for x in y; do j; done; k() { l; }; { m; } > n",
  )
  if ("unparsed" in parsed) throw new Error(parsed.unparsed)
  expect(parsed.script.map(names)).toEqual([
    { or: [{ and: ["a", "b"] }, { not: "c" }] },
    { isolated: [{ isolated: ["d", "e"] }] },
    { isolated: [["f"]] },
    { branch: [["g"], ["h"], { branch: [[], ["i"]] }] },
    { loop: ["j"] },
    { function: { redirected: ["l"] } },
    { redirected: ["m"] },
  ])
})

describe("text that the grammar parses differently from bash, or does not support, is unparsed", () => {
  test.each([
    "echo $'a\\\\' ; rm x '",
    "r\\\nm x",
    'echo "c"\\d',
    "echo a\\\n b",
    "[ a > f ]",
    "[ a < f ]",
    "[ a -a b ] ]",
    "echo a\rb",
    "echo a\vb",
    "echo\u00a0a",
    "echo \u200b",
    "echo \ud800",
    "{ls;}",
    "echo `echo \\`ls\\``",
    "echo `ls # x`",
    'echo $"x"',
    "echo ${x@P}",
    "echo ${!x}",
    "echo ${x:=y}",
    "echo ${x:-`ls`}",
    "echo ${a[$(ls)]}",
    "echo $((x))",
    "((x++))",
    "for ((;;)); do ls; done",
    "select x in a; do ls; done",
    "coproc ls",
    "a[x]=1",
    "a=([x]=1)",
    "[[ a =~ b ]]",
    "[[ -v a ]]",
    "[[ $x -eq 1 ]]",
    "cat <<EOF\n$(ls)\nEOF",
    "cat <<A <<B\nA\nB",
    "cat <<E\\OF\nEOF",
    "cat <<EOF\nx\n EOF",
    "cat <<EOF; ls\nEOF",
    "echo <> f",
    "{fd}> f ls",
    "ls )",
    "echo 'x",
    'echo "x',
    "if ls; then",
  ])("%j", (text) => {
    expect(parse(text)).toEqual({ unparsed: expect.any(String) })
  })

  test.each([
    ["a long text", `echo ${"a".repeat(40_000)}`],
    ["a deep text", `echo ${"$(".repeat(3_000)}ls${")".repeat(3_000)}`],
    ["many groups", `${"{ ".repeat(3_000)}ls${"; }".repeat(3_000)}`],
    ["a long list", `ls${" && ls".repeat(3_000)}`],
    ["a long pipe and backquotes", `ls${" | ls".repeat(3_000)}${"`".repeat(999)}`],
  ])("%s", (_, text) => {
    expect(parse(text)).toEqual({ unparsed: expect.any(String) })
  })
})
