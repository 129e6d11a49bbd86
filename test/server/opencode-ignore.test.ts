import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { expect, test } from "vitest"
import { ignoredIn } from "../../src/server/opencode/files/ignore-rules.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const files: Record<string, string> = {
  ".gitignore": [
    "# a comment",
    "/top",
    "dist/",
    "*.log",
    "!keep.log",
    "docs/*.tmp",
    "deep/**/end",
    "inside/**",
    "[ab].txt",
    "\\#odd",
    "\\!bang",
    "trailing   ",
    "name\\ ",
    "a?c",
    "**/anywhere/x",
    "two/three/",
    "[[:digit:]]*.dat",
    "[![:lower:][:space:]].x",
    "[a\\-c].y",
    "[[:nosuch:]]",
    "..",
    "/",
    "",
  ].join("\r\n"),
  "sub/.gitignore": "!*.log\n/own\nd.txt\n",
  "home/.config/git/ignore": "of-user\n",
  "home/.keep": "",
}

const entries = [
  "top",
  "sub/top",
  "dist/",
  "sub/dist/",
  "dist/in/",
  "dist/in/x.txt",
  "a.log",
  "keep.log",
  "sub/a.log",
  "docs/a.tmp",
  "docs/more/a.tmp",
  "deep/end",
  "deep/1/2/end",
  "inside/",
  "inside/a",
  "a.txt",
  "c.txt",
  "sub/b.txt",
  "sub/d.txt",
  "sub/own",
  "sub/more/own",
  "#odd",
  "!bang",
  "trailing",
  "name ",
  "abc",
  "ac",
  "p/anywhere/x",
  "two/three/",
  "two/three/four/",
  "sub/two/three/",
  "1.dat",
  "a.dat",
  "sub/22.dat",
  "B.x",
  "b.x",
  "-.y",
  "b.y",
  "n",
  "of-exclude",
  "of-user",
  "sub/of-user/",
  "nothing/",
]

test("ignore files are read as git reads them, also for empty directories and inside ignored directories", async () => {
  await using place = await temporaryDirectory()
  const root = join(place.path, "project")
  const home = join(place.path, "home")
  const git = (args: string[], input?: string) => {
    const env = { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: "1" }
    return execFileSync("git", args, { cwd: root, env, ...(input !== undefined && { input }) }).toString()
  }
  const write = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  for (const [path, text] of Object.entries(files)) {
    write(path.startsWith("home/") ? join(place.path, path) : join(root, path), text)
  }
  for (const path of entries) {
    if (path.endsWith("/")) mkdirSync(join(root, path), { recursive: true })
    else write(join(root, path), "")
  }
  git(["init", "--quiet"])
  write(join(root, ".git/info/exclude"), "of-exclude\n")

  const plain = entries.map((path) => path.replace(/\/$/, ""))
  const ignored = git(["check-ignore", "--no-index", "-z", "--stdin"], plain.join("\0"))
  const own = await Promise.all(
    plain.map(async (path, index) => {
      const directory = dirname(join(root, path))
      const isIgnored = await ignoredIn(directory, { root, environment: { HOME: home } })
      const isDirectory = entries[index]!.endsWith("/")
      return isIgnored({ name: basename(path), isDirectory }) ? [path] : []
    }),
  )
  expect(own.flat()).toEqual(ignored.split("\0").slice(0, -1))
  expect(own.flat()).toContain("dist/in/x.txt")
})

test("without a repository .gitignore is not read; .ignore overrides .gitignore in a repository", async () => {
  await using place = await temporaryDirectory()
  const root = place.path
  writeFileSync(join(root, ".gitignore"), "one\ntwo\n")
  writeFileSync(join(root, ".ignore"), "!one\nthree\n")
  const ignored = async () => {
    const isIgnored = await ignoredIn(root, { root, environment: {} })
    return ["one", "two", "three", "node_modules"].filter((name) => isIgnored({ name, isDirectory: true }))
  }
  expect(await ignored()).toEqual(["three", "node_modules"])
  mkdirSync(join(root, ".git"))
  writeFileSync(join(root, ".git/HEAD"), "ref: refs/heads/main\n")
  expect(await ignored()).toEqual(["two", "three", "node_modules"])
})
