import { expect, test } from "vitest"
import { rankNames } from "./find-names.ts"

test("best matches come first: the whole name, its beginning, a part of it, a part of the path, then letters in order", () => {
  const names = ["m-a-i-n.txt", "main/other.ts", "domain.ts", "mainly.ts", "src/main", "unrelated.ts"]
  expect(rankNames(names, "Main")).toEqual([
    "src/main",
    "mainly.ts",
    "domain.ts",
    "main/other.ts",
    "m-a-i-n.txt",
  ])
})

test("equal matches keep their order, and an empty query matches all names", () => {
  expect(rankNames(["b.ts", "a.ts"], "ts")).toEqual(["b.ts", "a.ts"])
  expect(rankNames(["b", "a"], " ")).toEqual(["b", "a"])
  expect(rankNames(["b", "a"], "xyz")).toEqual([])
})
