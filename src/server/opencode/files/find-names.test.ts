import { expect, test } from "vitest"
import { ranked } from "./find-names.ts"

test("names come best first: the name, its beginning, a piece of it, of the path, then letters in order", () => {
  const names = ["m-a-i-n.txt", "main/other.ts", "domain.ts", "mainly.ts", "src/main", "unrelated.ts"]
  expect(ranked(names, "Main")).toEqual([
    "src/main",
    "mainly.ts",
    "domain.ts",
    "main/other.ts",
    "m-a-i-n.txt",
  ])
})

test("among equals the order stays, and an empty query takes all", () => {
  expect(ranked(["b.ts", "a.ts"], "ts")).toEqual(["b.ts", "a.ts"])
  expect(ranked(["b", "a"], " ")).toEqual(["b", "a"])
  expect(ranked(["b", "a"], "xyz")).toEqual([])
})
