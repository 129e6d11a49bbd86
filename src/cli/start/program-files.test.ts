import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { CompiledCode } from "./compiled-code.ts"
import { ProgramFiles } from "./program-files.ts"

let directory: string
let keptAt: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "stemma-start-"))
  keptAt = join(directory, "kept", "run.bin")
  write("main.cjs", `exports.brew = () => require("./tea-1.cjs").tea + require("node:path").sep`)
  write("tea-1.cjs", `exports.tea = "oolong"`)
  write("seldom.cjs", `exports.isThere = true`)
})

afterEach(() => rmSync(directory, { recursive: true }))

const write = (name: string, text: string) =>
  writeFileSync(join(directory, name), `(function (exports, require, module, __filename) {${text}\n})`)
const compile = <T>(work: () => T) => work()
const open = () => new ProgramFiles({ directory, keptAt, compile })
const brew = (files: ProgramFiles) => (files.load("main.cjs") as { brew: () => string }).brew()
const namesKept = () => [...new CompiledCode(keptAt).names].sort()

/** One process: loads, runs and keeps. */
function runOnce(): string {
  const files = open()
  const result = brew(files)
  files.keep()
  return result
}

test("files load each other and modules of Node, each once", () => {
  const files = open()
  expect(brew(files)).toBe("oolong/")
  expect(files.load("main.cjs")).toBe(files.load("main.cjs"))
})

test("the first five processes keep what they compiled, for the owner only", () => {
  for (let process = 1; process <= 7; process++) {
    expect(runOnce()).toBe("oolong/")
    expect(new CompiledCode(keptAt).taughtBy).toBe(Math.min(process, 5))
  }
  expect(namesKept()).toEqual(["main.cjs", "tea-1.cjs"])
  expect(statSync(keptAt).mode & 0o777).toBe(0o600)
})

test("a file that no process had loaded is added later", () => {
  for (let process = 0; process < 6; process++) runOnce()
  const files = open()
  files.load("seldom.cjs")
  files.keep()
  expect(namesKept()).toEqual(["main.cjs", "seldom.cjs", "tea-1.cjs"])
})

test("a changed file of the same length runs its new code", () => {
  runOnce()
  write("tea-1.cjs", `exports.tea = "sencha"`)
  expect(runOnce()).toBe("sencha/")
  expect(runOnce()).toBe("sencha/")
})

test("the files of an earlier version are dropped", () => {
  runOnce()
  rmSync(join(directory, "tea-1.cjs"))
  write("tea-2.cjs", `exports.tea = "sencha"`)
  write("main.cjs", `exports.brew = () => require("./tea-2.cjs").tea`)
  expect(runOnce()).toBe("sencha")
  expect(namesKept()).toEqual(["main.cjs", "tea-2.cjs"])
})

test("damaged, cut off or foreign compiled code is not used", () => {
  runOnce()
  const whole = readFileSync(keptAt)
  for (const at of [0, 5, 9, whole.length - 3]) {
    const damaged = Buffer.from(whole)
    damaged[at]! ^= 0xff
    writeFileSync(keptAt, damaged)
    expect(runOnce()).toBe("oolong/")
  }
  for (const length of [0, 4, 20, whole.length - 10]) {
    writeFileSync(keptAt, whole.subarray(0, length))
    expect(runOnce()).toBe("oolong/")
  }
  writeFileSync(keptAt, whole)
  expect(new CompiledCode(keptAt).isEmpty).toBe(false)
  chmodSync(keptAt, 0o622)
  expect(new CompiledCode(keptAt).isEmpty).toBe(true)
})

test("a server keeps code soon after its start, if nothing is kept yet", async () => {
  const first = open()
  brew(first)
  await first.keepEarly()
  expect(new CompiledCode(keptAt).taughtBy).toBe(0)
  expect(namesKept()).toEqual(["main.cjs", "tea-1.cjs"])
  const second = open()
  second.load("seldom.cjs")
  await second.keepEarly()
  expect(namesKept()).toEqual(["main.cjs", "tea-1.cjs"])
})

test("without a path nothing is kept", async () => {
  const files = new ProgramFiles({ directory, keptAt: undefined, compile })
  expect(brew(files)).toBe("oolong/")
  files.keep()
  await files.keepEarly()
  expect(new CompiledCode(keptAt).isEmpty).toBe(true)
})
