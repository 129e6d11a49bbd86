import { describe, expect, test } from "vitest"
import { isPlainSed } from "./text-programs.ts"

describe("sed scripts", () => {
  test.each([
    "p",
    "1,5p",
    "$d",
    "/a/p",
    "/a/,/b/d",
    "s/a/b/",
    "s/a/b/gI",
    "s|a|b|g; s,c,d,",
    "/x/{s/a/b/;p}",
    "1~2p",
    "2q",
    "/[/]w x/p",
    "s/a\\/w b/c/",
    "y/abc/xyz/",
    "1!G;h;$!d",
    "5i text",
    "/a/!d",
    "s/w f/e/",
    "",
  ])("%j only reads", (script) => expect(isPlainSed(script)).toBe(true))

  test.each([
    "w f",
    "1w f",
    "/a/w f",
    "s/a/b/w f",
    "s/a/b/gw f",
    "s/a/b/e",
    "e ls",
    "1e",
    "r /etc/passwd",
    "R x",
    "W x",
    "p;w f",
    "p\nw f",
    "{w f\n}",
    "s/a/b/;e ls",
    "s\na\nb\ne",
    "1i a\\\nw f",
    "/a/,/b/w f",
    "s/[/]/b/e",
    "\\,a,w f",
    "M",
    "p w f",
  ])("%j may write or run programs", (script) => expect(isPlainSed(script)).toBe(false))
})
