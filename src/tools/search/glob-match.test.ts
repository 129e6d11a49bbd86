import { expect, test } from "vitest"
import { compileGlob } from "./glob-match.ts"

test.each([
  ["*.ts", "a.ts", true],
  ["*.ts", "src/deep/a.ts", true],
  ["*.ts", "a.tsx", false],
  ["src/*.ts", "src/a.ts", true],
  ["src/*.ts", "src/b/a.ts", false],
  ["src/*.ts", "lib/src/a.ts", false],
  ["src/**/*.ts", "src/a.ts", true],
  ["src/**/*.ts", "src/b/c/a.ts", true],
  ["**/test/**", "a/test/b", true],
  ["**/test/**", "a/tests/b", false],
  ["**", "a/b/c", true],
  ["a/**/b/**/c", "a/x/b/y/z/c", true],
  ["a/**/b/**/c", "a/x/y/z/c", false],
  ["./src/*", "src/a", true],
  ["{src,test}/**/*.{ts,tsx}", "test/x/a.tsx", true],
  ["{src,test}/**/*.{ts,tsx}", "lib/x/a.ts", false],
  ["a{b,c{d,e}}f", "acef", true],
  ["a{b,c{d,e}}f", "acf", false],
  ["a{b", "a{b", true],
  ["file?.txt", "file1.txt", true],
  ["file?.txt", "file😀.txt", true],
  ["file?.txt", "file.txt", false],
  ["a?b", "a/b", false],
  ["[a-c]x", "bx", true],
  ["[!a-c]x", "bx", false],
  ["[!a-c]x", "dx", true],
  ["[]]x", "]x", true],
  ["[abc", "[abc", true],
  ["[[:upper:]]x", "Ax", true],
  ["[[:upper:]]x", "ax", false],
  ["[![:space:]_]x", "ax", true],
  ["[![:space:]_]x", "_x", false],
  ["[[:nosuch:]]x", "ax", false],
  ["[[:alpha]x", ":x", true],
  ["[a\\-c]x", "bx", false],
  ["[a\\-c]x", "-x", true],
  ["[\\]]x", "]x", true],
  ["\\*.ts", "*.ts", true],
  ["\\*.ts", "a.ts", false],
  ["!a", "!a", true],
  ["-x*", "-xyz", true],
  [".env*", ".env.local", true],
  ["*", ".hidden", true],
  ["dist/", "dist/a/b", true],
  ["字*.md", "docs/字典.md", true],
  ["*a*b*c", "xaybzc", true],
  ["*a*b*c", "xaybz", false],
])("%s on %s: %s", (pattern, path, expected) => {
  expect(compileGlob(pattern)(path)).toBe(expected)
})

test.each(["/etc/*", "../*", "a/../b", "{/etc,x}/*", "a/{..,b}/c"])(
  "%s is refused: it leads out of the path",
  (pattern) => {
    expect(() => compileGlob(pattern)).toThrow(/relative/)
  },
)

test("braces that expand to very many patterns are refused at once", () => {
  expect(() => compileGlob("{a,b}".repeat(30))).toThrow(/fewer braces/)
})

test("a hostile pattern takes no exponential time", () => {
  const matches = compileGlob(`${"*a".repeat(120)}b`)
  expect(matches("a".repeat(250))).toBe(false)
  const deep = compileGlob(`${"**/a/".repeat(80)}b`)
  expect(deep("a/".repeat(200).slice(0, -1))).toBe(false)
})
