import { isAbsolute, join, resolve } from "node:path"
import { expect, test } from "vitest"
import { configDirectory, dataDirectory } from "./paths.ts"

test.each([
  [{ HOME: "/home/a" }, "/home/a/.local/share/stemma", "/home/a/.config/stemma"],
  [{ HOME: "/home/a", XDG_DATA_HOME: "/d", XDG_CONFIG_HOME: "/c" }, "/d/stemma", "/c/stemma"],
  [
    { HOME: "/home/a", XDG_DATA_HOME: "d", XDG_CONFIG_HOME: "./c" },
    "/home/a/.local/share/stemma",
    "/home/a/.config/stemma",
  ],
  [{ XDG_DATA_HOME: "/d", STEMMA_DATA: "/own", STEMMA_CONFIG: "/conf" }, "/own", "/conf"],
])("with %j data and config are in %s and %s", (env, data, config) => {
  expect([dataDirectory(env), configDirectory(env)]).toEqual([data, config])
})

test("a relative directory in a variable is relative to the working directory", () => {
  expect(dataDirectory({ STEMMA_DATA: "here" })).toBe(resolve("here"))
})

test("an empty variable counts as unset", () => {
  const env = { HOME: "/home/a", STEMMA_DATA: "", XDG_DATA_HOME: "" }
  expect(dataDirectory(env)).toBe(join("/home/a", ".local/share/stemma"))
})

test("an empty or relative HOME does not make the current directory the user's own", () => {
  for (const HOME of ["", ".", "here"]) {
    expect(isAbsolute(dataDirectory({ HOME }))).toBe(true)
    expect(isInside(process.cwd(), configDirectory({ HOME }))).toBe(false)
  }
})

function isInside(directory: string, path: string): boolean {
  return path.startsWith(`${directory}/`)
}
