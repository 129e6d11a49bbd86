import { execFile } from "node:child_process"
import { appendFile, chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { bashTool } from "../../src/tools/shell/bash.ts"
import { toolContext } from "../support/tool-context.ts"

/** Pids of processes whose command line contains the text. */
async function processesWith(text: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const lines = await Promise.all(
    pids.map(async (pid) => ({ pid, line: await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "") })),
  )
  return lines.filter(({ line }) => line.includes(text)).map(({ pid }) => Number(pid))
}

/** Waits until killed processes have disappeared. */
async function expectGone(text: string): Promise<void> {
  for (let tries = 0; tries < 100 && (await processesWith(text)).length > 0; tries++) await sleep(20)
  expect(await processesWith(text)).toEqual([])
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await sleep(10)
}

let numbers = 0
/** A number of seconds that no other process here sleeps. */
function uniqueSeconds(): string {
  return `9${process.pid}.${++numbers}`
}

describe("running a command", () => {
  test("returns stdout and stderr in the order in which they were written", async () => {
    await using context = await toolContext()
    const command = "for i in 1 2 3; do echo out$i; echo err$i >&2; done"
    const result = await context.call(bashTool, { command, description: "counts" })
    expect(result).toEqual({
      title: "counts",
      output: "out1\nerr1\nout2\nerr2\nout3\nerr3\n",
      metadata: { exit: 0, output: "out1\nerr1\nout2\nerr2\nout3\nerr3\n", description: "counts" },
    })
    expect(context.printed.join("")).toBe(result.output)
  })

  test("an exit code other than zero is not an error, and the output names it", async () => {
    await using context = await toolContext()
    const result = await context.call(bashTool, { command: "printf partial; exit 2" })
    expect(result.output).toBe("partial\nexit code 2")
    expect(result.metadata).toMatchObject({ exit: 2, output: "partial" })
    expect((await context.call(bashTool, { command: "true" })).output).toBe("(no output)")
    expect((await context.call(bashTool, { command: "kill -9 $$" })).output).toContain("SIGKILL")
  })

  test("starts in the session's directory, or in the given directory", async () => {
    await using context = await toolContext({ files: { "sub/a": "" } })
    expect((await context.call(bashTool, { command: "pwd; echo $PWD" })).output).toBe(
      `${context.root}\n${context.root}\n`,
    )
    expect((await context.call(bashTool, { command: "ls", workdir: "sub" })).output).toBe("a\n")
    await expect(context.call(bashTool, { command: "ls", workdir: "none" })).rejects.toThrow(
      "There is no directory none",
    )
  })

  test("a directory outside needs permission, and commands are judged relative to it", async () => {
    await using context = await toolContext({
      rules: { "*": "allow", external_directory: "ask" },
      answer: () => "reject",
    })
    await expect(context.call(bashTool, { command: "ls", workdir: ".." })).rejects.toThrow(
      `Not permitted: external_directory ${join(context.home, "*")}`,
    )
    const wants = await bashTool.wants({ command: "cat project/x", workdir: ".." }, context)
    expect(wants.map((wanted) => wanted.permission)).toEqual(["external_directory", "bash", "read"])
  })

  test("has an empty stdin and no terminal", async () => {
    await using context = await toolContext()
    const result = await context.call(bashTool, { command: "cat; tty; [ -t 1 ] || echo none" })
    expect(result.output).toContain("not a tty")
    expect(result.output).toContain("none")
  })

  test("fails with an explanation if there is no bash", async () => {
    await using context = await toolContext({ environment: { PATH: "/nowhere" } })
    await expect(context.call(bashTool, { command: "ls" })).rejects.toThrow(
      "No command can run: bash was not found",
    )
  })

  test("refuses a NUL character and a timeout that is too long", async () => {
    await using context = await toolContext()
    await expect(context.call(bashTool, { command: "echo a\0b" })).rejects.toThrow("NUL")
    expect(bashTool.input.safeParse({ command: "ls", timeout: 600_001 }).success).toBe(false)
    expect(bashTool.input.safeParse({ command: "" }).success).toBe(false)
  })

  test("a read-only command needs no snapshot", async () => {
    const { writes } = bashTool
    if (typeof writes !== "function") throw new Error("It depends on the input.")
    expect(await writes({ command: "git status && cat a | head" })).toBe(false)
    expect(await writes({ command: "echo x > f" })).toBe(true)
    expect(await writes({ command: "npm test" })).toBe(true)
    expect(await writes({ command: "cat 'unfinished" })).toBe(true)
  })
})

describe("the environment", () => {
  test("contains nothing that changes which programs bash runs or how it parses the text", async () => {
    await using context = await toolContext({ files: { "evil.sh": "echo EVIL", "sub/x": "" } })
    context.environment = {
      PATH: `.:${process.env.PATH}:relative`,
      BASH_ENV: join(context.root, "evil.sh"),
      ENV: join(context.root, "evil.sh"),
      SHELLOPTS: "xtrace",
      BASHOPTS: "expand_aliases",
      "BASH_FUNC_ls%%": "() { echo EVIL; }",
      PS4: "$(echo EVIL)",
      CDPATH: "/",
      POSIXLY_CORRECT: "1",
      KEPT: "yes",
    }
    const command = "ls; cd sub; echo $KEPT $PATH; set -o | grep -E 'posix|xtrace'"
    const { output } = await context.call(bashTool, { command })
    expect(output).not.toContain("EVIL")
    expect(output).toContain("evil.sh\nsub\n")
    expect(output).toContain(
      `yes ${process.env
        .PATH!.split(":")
        .filter((entry) => entry.startsWith("/"))
        .join(":")}\n`,
    )
    expect(output).toMatch(/posix\s+off\s+xtrace\s+off/)
  })

  test("git runs no program that a directory disguised as a repository names", async () => {
    await using context = await toolContext({
      files: {
        "fake/HEAD": "ref: refs/heads/main\n",
        "fake/config":
          '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ran; false"\n',
        "fake/objects/x": "",
        "fake/refs/x": "",
      },
    })
    await context.call(bashTool, { command: "cd fake && git status; ls" })
    expect(await readdir(join(context.root, "fake"))).not.toContain("ran")
  })
})

describe("a command that is allowed while edits are denied", () => {
  const rules = { "*": "allow", edit: "deny", read: { "*": "allow", ".env": "ask" } } as const

  test.each([
    "declare -a x='($(touch made))'",
    "x=(1); declare x='($(touch made))'",
    "y='($(touch made))'; f() { local -a x=\"$y\"; }; f",
    "(make() { :; }); make made",
    "make() { :; }; unset -f make; make made",
    "make() { :; }; command make made",
    "find . -maxdepth 0 -exec sed -e s/a/X/ + -inum a.txt -size \\;",
    "y='a.txt -fprint made'; find . -name $y",
    "printf 'x%n' PATH; ls",
    "y='1 --output=made'; sort -k $y a.txt",
  ])("%j changes nothing", async (command) => {
    await using context = await toolContext({
      rules,
      git: true,
      files: { "a.txt": "a\n", Makefile: "made:\n\ttouch made\n", "1/ls": "#!/bin/sh\n: > made\n" },
    })
    await chmod(join(context.root, "1/ls"), 0o755)
    await context.call(bashTool, { command }).catch(() => undefined)
    expect(await readdir(context.root)).not.toContain("made")
    expect(await readFile(join(context.root, "a.txt"), "utf8")).toBe("a\n")
  })

  test.each([
    ["core", "fsmonitor", "git status"],
    ["diff", "external", "git diff"],
    ['diff "x"', "textconv", "git diff"],
    ['diff "x"', "command", "git diff"],
    ['filter "x"', "clean", "git status"],
    ["core", "hooksPath", "git status"],
    ["include", "path", "git diff"],
  ])("the repository's config [%s] %s does not make git run a program", async (section, key, command) => {
    await using context = await toolContext({
      rules,
      git: true,
      files: { "a.txt": "a\n", ".gitattributes": "*.txt diff=x filter=x\n" },
    })
    const trace = join(context.root, "ran")
    const program = join(context.root, "program/post-index-change")
    await mkdir(join(context.root, "program"))
    await writeFile(program, `#!/bin/sh\n: > '${trace}'\n`)
    await chmod(program, 0o755)
    const git = (...args: string[]) => promisify(execFile)("git", ["-C", context.root, ...args])
    await git("add", "a.txt")
    await writeFile(join(context.root, "a.txt"), "b\n")
    await writeFile(join(context.root, ".git/more"), `[diff]\n\texternal = ${program}\n`)
    const value = key === "hooksPath" ? join(context.root, "program") : key === "path" ? "more" : program
    await appendFile(join(context.root, ".git/config"), `[${section}] ${key} = ${value}\n`)
    await context.call(bashTool, { command }).catch(() => undefined)
    await expect(stat(trace)).rejects.toThrow()
  })

  test("reads a common repository without a question", async () => {
    await using context = await toolContext({ rules, git: true, files: { "a.txt": "a\n" } })
    await appendFile(
      join(context.root, ".git/config"),
      '[remote "origin"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[filter "lfs"]\n\tclean = git-lfs clean -- %f\n',
    )
    const { output } = await context.call(bashTool, { command: "git status --short && git diff" })
    expect(output).toContain("?? a.txt")
    expect(context.questions).toEqual([])
  })
})

describe("output", () => {
  test("characters are not split and nothing is stripped", async () => {
    await using context = await toolContext()
    const command = "printf '\\xe4\\xb8'; sleep 0.05; printf '\\xad\\e[31mred\\r\\n'"
    const { output } = await context.call(bashTool, { command })
    expect(output).toBe("中\u001b[31mred\r\n")
    expect(context.printed.join("")).toBe(output)
  })

  test("binary output does not break the call", async () => {
    await using context = await toolContext()
    const { output } = await context.call(bashTool, {
      command: "head -c 100000 /dev/urandom; echo; echo end",
    })
    expect(output.endsWith("\nend\n")).toBe(true)
  })

  test("a line of one megabyte is complete", async () => {
    await using context = await toolContext()
    const { output } = await context.call(bashTool, { command: "head -c 1000000 /dev/zero | tr '\\0' a" })
    expect(output.length).toBe(1_000_000)
  })

  test("more than ten megabytes: the middle is left out, and the output says how many bytes", async () => {
    await using context = await toolContext()
    const command = "echo first; head -c 30000000 /dev/zero | tr '\\0' a; echo; echo last"
    const { output, metadata } = await context.call(bashTool, { command })
    expect(output.startsWith("first\na")).toBe(true)
    expect(output.endsWith("a\nlast\n")).toBe(true)
    expect(output.length).toBeLessThan(11 * 1024 * 1024)
    const [, left] = /\n\[(\d+) bytes left out\]\n/.exec(output)!
    expect(output.replace(/\n\[\d+ bytes left out\]\n/, "").length + Number(left)).toBe(30_000_012)
    expect((metadata!.output as string).length).toBe(30_000)
    expect(context.printed.join("").length).toBeLessThan(6 * 1024 * 1024)
  })
})

describe.skipIf(process.platform !== "linux")("the end of a command", () => {
  test("a timeout kills the whole process group, and the output says what was printed", async () => {
    await using context = await toolContext()
    const seconds = uniqueSeconds()
    const command = `echo begun; (sleep ${seconds} & sleep ${seconds}); sleep ${seconds}`
    const result = await context.call(bashTool, { command, timeout: 300 })
    expect(result.output).toBe(
      "begun\nThe command was ended after 300 ms, its time limit. What it printed until then is above.",
    )
    expect(result.metadata).toMatchObject({ timedOut: true, exit: null })
    await expectGone(seconds)
  })

  test("an abort ends it within the time limit for tools", async () => {
    await using context = await toolContext()
    const seconds = uniqueSeconds()
    const running = context.call(bashTool, { command: `echo begun; sleep ${seconds} | sleep ${seconds}` })
    await until(() => context.printed.length > 0)
    context.abort()
    const result = await running
    expect(result.output).toContain("begun\n")
    expect(result.metadata).toMatchObject({ aborted: true })
    await expectGone(seconds)
  })

  test("processes that ignore SIGTERM are killed", async () => {
    await using context = await toolContext()
    const seconds = uniqueSeconds()
    const command = `trap '' TERM; echo begun; while true; do sleep ${seconds}; done`
    await context.call(bashTool, { command, timeout: 200 })
    await expectGone(seconds)
  })

  test("a process that left the process group is found and killed too", async () => {
    await using context = await toolContext()
    const seconds = uniqueSeconds()
    await context.call(bashTool, { command: `setsid sleep ${seconds} & sleep ${seconds}`, timeout: 500 })
    await expectGone(seconds)
  })

  test("a background process does not block the call, and continues", async () => {
    await using context = await toolContext()
    const seconds = uniqueSeconds()
    const { output } = await context.call(bashTool, {
      command: `sleep ${seconds} & echo $!`,
      timeout: 30_000,
    })
    const pid = Number(output.trim())
    expect(await processesWith(seconds)).toContain(pid)
    process.kill(pid, "SIGKILL")
    await expectGone(seconds)
  })

  test("an abort before the start runs nothing", async () => {
    await using context = await toolContext()
    context.abort()
    await expect(bashTool.execute({ command: "touch ran" }, context)).rejects.toThrow()
    expect(await readdir(context.root)).toEqual([])
  })

  test("many short commands at the same time all return their output", async () => {
    await using context = await toolContext()
    const runs = Array.from({ length: 20 }, (_, index) =>
      context.call(bashTool, { command: `echo ${index}` }),
    )
    expect((await Promise.all(runs)).map((result) => result.output)).toEqual(
      Array.from({ length: 20 }, (_, index) => `${index}\n`),
    )
  })
})
