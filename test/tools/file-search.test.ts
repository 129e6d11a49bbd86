import { chmod, mkdir, symlink, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { globTool } from "../../src/tools/search/glob.ts"
import { grepTool } from "../../src/tools/search/grep.ts"
import { listTool } from "../../src/tools/search/list.ts"
import { ripgrep } from "../../src/tools/search/ripgrep.ts"
import { putFiles, type TestToolContext, toolContext } from "../support/tool-context.ts"

const linesOf = (output: string) => output.split("\n")

/** Files that get older from the first to the last. */
async function putAged(context: TestToolContext, files: Record<string, string>): Promise<void> {
  await putFiles(context.root, files)
  for (const [age, name] of Object.keys(files).entries()) {
    await utimes(join(context.root, name), 1_700_000_000, 1_700_000_000 - age * 60)
  }
}

const project = {
  ".gitignore": "dist/\n*.log\n",
  "src/a.ts": "needle\n",
  "dist/a.ts": "needle\n",
  "out.log": "needle\n",
  "node_modules/x/a.ts": "needle\n",
  ".hidden/a.ts": "needle\n",
}

describe("glob", () => {
  test("finds files newest first without ignored files, also for patterns that match everything", async () => {
    await using context = await toolContext({ git: true })
    await putAged(context, project)
    for (const pattern of ["*", "**", "**/*"]) {
      const { output } = await context.call(globTool, { pattern })
      expect(linesOf(output)).toEqual([".gitignore", "src/a.ts", ".hidden/a.ts"])
    }
    const { output } = await context.call(globTool, { pattern: "*.ts", path: "node_modules" })
    expect(output).toBe("node_modules/x/a.ts")
  })

  test("shows 100 files and says how many more there are", async () => {
    const files = Object.fromEntries(Array.from({ length: 130 }, (_, i) => [`f${i}.txt`, ""]))
    await using context = await toolContext({ files })
    const { output, metadata } = await context.call(globTool, { pattern: "f*.txt" })
    expect(linesOf(output)).toHaveLength(101)
    expect(output).toMatch(/\(30 more files match\./)
    expect(metadata).toMatchObject({ count: 100, truncated: true })
  })

  test("leaves out files that may not be read without a question, and counts them", async () => {
    await using context = await toolContext({
      files: { ".env": "", "a.txt": "", "b.key": "", "src/.env": "" },
      rules: { read: { "*": "allow", "*.env": "deny", "*.key": "ask" } },
    })
    const { output } = await context.call(globTool, { pattern: "*" })
    expect(linesOf(output)).toEqual(["a.txt", "(3 files are left out: reading is not allowed.)"])
  })

  test("does not follow symlinks, and shows names relative to the session's directory", async () => {
    await using context = await toolContext({
      git: true,
      directory: "web",
      files: { "lib/a.ts": "", "web/b.ts": "" },
    })
    await putFiles(context.home, { "other/secret.ts": "" })
    await symlink(join(context.home, "other"), join(context.root, "web/link"))
    await symlink(join(context.home, "other/secret.ts"), join(context.root, "web/secret.ts"))
    expect((await context.call(globTool, { pattern: "**/*.ts" })).output).toBe("b.ts")
    expect((await context.call(globTool, { pattern: "**/*.ts", path: "../lib" })).output).toBe("../lib/a.ts")
  })

  test("accepts unusual patterns and names literally", async () => {
    await using context = await toolContext({
      files: { "--files": "", "-a": "", "!b": "", "new\nline": "", "字.md": "" },
    })
    const glob = async (pattern: string) => (await context.call(globTool, { pattern })).output
    expect(await glob("--files")).toBe("--files")
    expect(await glob("-*a")).toBe("-a")
    expect(await glob("!b")).toBe("!b")
    expect(await glob("new*line")).toBe(String.raw`"new\nline"`)
    expect(await glob("?.md")).toBe("字.md")
    expect(await glob("nothing")).toBe("No file matches.")
  })

  test("a path that is missing or that is a file gets an explanation", async () => {
    await using context = await toolContext({ files: { "a.txt": "" } })
    const glob = (path: string) => expect(context.call(globTool, { pattern: "*", path })).rejects
    await glob("missing").toThrow(/no directory missing/)
    await glob("a.txt").toThrow(/is a file.*read tool/)
    await expect(context.call(globTool, { pattern: "/etc/*" })).rejects.toThrow(/Give the directory as path/)
  })
})

describe("grep", () => {
  test("finds lines in the newest files first, and not in ignored files", async () => {
    await using context = await toolContext({ git: true })
    await putAged(context, { ...project, "b.txt": "x\r\nneedle 1\r\nneedle 2\r\n" })
    const { output } = await context.call(grepTool, { pattern: "needle( \\d)?$" })
    expect(output).toBe(
      [
        "src/a.ts:",
        "1: needle",
        "",
        ".hidden/a.ts:",
        "1: needle",
        "",
        "b.txt:",
        "2: needle 1",
        "3: needle 2",
      ].join("\n"),
    )
  })

  test("include narrows the search and does not add ignored files", async () => {
    await using context = await toolContext({ git: true, files: project })
    for (const include of ["*.{ts,log}", "**/*.ts", "src/**"]) {
      expect((await context.call(grepTool, { pattern: "needle", include })).output).toMatch(
        /^(src|\.hidden)\/a\.ts:/,
      )
    }
    const { output } = await context.call(grepTool, { pattern: "needle", include: "**" })
    expect(output).not.toMatch(/dist|log|node_modules/)
  })

  test("never opens files that may not be read: the notice does not depend on their content", async () => {
    const outputs: string[] = []
    for (const secret of ["KEY=abc", "nothing"]) {
      await using context = await toolContext({
        files: { ".env": secret, "a.txt": "x" },
        rules: { read: { "*": "allow", "*.env": "deny" } },
      })
      outputs.push((await context.call(grepTool, { pattern: "KEY=a" })).output)
    }
    expect(outputs[0]).toBe("No line matches.\n(1 file is left out: reading is not allowed.)")
    expect(outputs[1]).toBe(outputs[0])
  })

  test("shows 100 lines, cuts long ones, and says that there are more", async () => {
    await using context = await toolContext({
      files: { "many.txt": "needle\n".repeat(500), "long.js": `needle${"é😀".repeat(50_000)}\n` },
    })
    const many = await context.call(grepTool, { pattern: "needle", include: "many.txt" })
    expect(many.output.match(/^\d+: needle$/gm)).toHaveLength(100)
    expect(many.output).toMatch(/more than 100 matching lines/)
    const long = await context.call(grepTool, { pattern: "needle", include: "long.js" })
    expect(long.output.length).toBeLessThan(600)
    expect(long.output.isWellFormed()).toBe(true)
  })

  test("a pattern is never parsed as an option, and an invalid one is explained", async () => {
    await using context = await toolContext({
      files: { "a.txt": "--pre=x\n-e\n", "-": "--pre=x\n", "--files": "-e\n" },
    })
    const grep = async (pattern: string) => (await context.call(grepTool, { pattern })).output
    expect(await grep("--pre=x")).toMatch(/1: --pre=x/)
    expect((await grep("--pre=x")).match(/^1: /gm)).toHaveLength(2)
    expect((await grep("-e")).match(/^\d: -e/gm)).toHaveLength(2)
    await expect(grep("(")).rejects.toThrow(/not a valid regular expression.*unclosed group/s)
    await expect(grep("a\nb")).rejects.toThrow(/not a valid regular expression/)
    await expect(grep("a\0b")).rejects.toThrow(/NUL/)
    await expect(grep("(a{1000}){1000}")).rejects.toThrow(/size limit|regular expression/)
    const empty = context.call(grepTool, { pattern: "(", include: "nothing" })
    await expect(empty).rejects.toThrow(/not a valid regular expression/)
  })

  test("handles binary files and files with unusual names", async () => {
    const files = {
      "a.bin": Buffer.concat([Buffer.from("needle\n"), Buffer.alloc(100), Buffer.from("\nneedle\n")]),
      "b.txt": "needle\n",
      "new\nline.txt": "needle\n",
      "c:7:x.txt": "needle\n",
    }
    await using context = await toolContext({ files })
    const { output } = await context.call(grepTool, { pattern: "needle" })
    expect(output).toContain("b.txt:\n1: needle")
    expect(output).toContain('"new\\nline.txt":\n1: needle')
    expect(output).toContain("c:7:x.txt:\n1: needle")
    expect(output).not.toContain("\0")
  })

  test("finds a name with a line break among notices about binary files, in any order", async () => {
    const binary = Buffer.concat([Buffer.from("needle\n"), Buffer.alloc(100), Buffer.from("\nneedle\n")])
    const files = Object.fromEntries([
      ...Array.from({ length: 30 }, (_, at) => [`a${at}.bin`, binary] as const),
      ...Array.from({ length: 30 }, (_, at) => [`n${at}\nline.txt`, "needle\n"] as const),
    ])
    await using context = await toolContext({ files })
    const { output } = await context.call(grepTool, { pattern: "needle" })
    for (let at = 0; at < 30; at++) expect(output).toContain(`"n${at}\\nline.txt":\n1: needle`)
  })

  test("finds lines in every encoding that ripgrep reads, and at any offset", async () => {
    const mark = "\ufeff"
    const utf16 = (text: string) => Buffer.from(mark + text, "utf16le")
    const text = "first\nßé needle 茶\nlast needle"
    const files = {
      "utf8-mark.txt": mark + text,
      "utf16le.txt": utf16(text),
      "utf16be.txt": utf16(text).swap16(),
      "crlf.txt": text.replaceAll("\n", "\r\n"),
      "invalid.txt": Buffer.from("x\n\xff\xfe needle \xe8\x8c\n", "latin1"),
      "long-line.txt": `${"é茶".repeat(5_000)} needle\n`,
      // The lines are before, across and after the first 64 KiB of the file.
      "far.txt": ["needle 1", "y".repeat(65_520), "needle 2 across", "x".repeat(70_000), "needle 3"].join(
        "\n",
      ),
    }
    await using context = await toolContext({ files })
    const { output } = await context.call(grepTool, { pattern: "needle" })
    for (const name of ["utf8-mark", "utf16le", "utf16be", "crlf"])
      expect(output).toContain(`${name}.txt:\n2: ßé needle 茶\n3: last needle`)
    expect(output).toContain("invalid.txt:\n2: \ufffd\ufffd needle \ufffd")
    expect(output).toContain(`long-line.txt:\n1: ${"é茶".repeat(250)}…`)
    expect(output).toContain("far.txt:\n1: needle 1\n3: needle 2 across\n5: needle 3")
  })

  test("searches thousands of files", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 2_500 }, (_, i) => [`d${i % 50}/f${i}.txt`, `file ${i}\n`]),
    )
    await using context = await toolContext({ files })
    expect((await context.call(grepTool, { pattern: "^file 1234$" })).output).toBe(
      "d34/f1234.txt:\n1: file 1234",
    )
  })

  test("can search one file, even if it is ignored", async () => {
    await using context = await toolContext({ git: true, files: project })
    expect((await context.call(grepTool, { pattern: "needle", path: "out.log" })).output).toBe(
      "out.log:\n1: needle",
    )
  })

  test("ignores a ripgrep config from the environment", async () => {
    await using context = await toolContext({ files: { "a.txt": "needle\n" } })
    const config = join(context.home, "ripgreprc")
    await writeFile(config, "--invert-match\n")
    context.environment.RIPGREP_CONFIG_PATH = config
    expect((await context.call(grepTool, { pattern: "needle" })).output).toBe("a.txt:\n1: needle")
  })
})

describe("list", () => {
  test("shows a tree without generated and ignored files, and marks symlinks", async () => {
    await using context = await toolContext({ git: true, files: { ...project, "src/deep/b.ts": "" } })
    await mkdir(join(context.root, "empty"))
    await symlink("/etc", join(context.root, "link"))
    const { output } = await context.call(listTool, { ignore: ["dist/", "*.log"] })
    expect(linesOf(output)).toEqual([
      "./",
      "  .gitignore",
      "  .hidden/",
      "    a.ts",
      "  empty/",
      "  link@",
      "  src/",
      "    a.ts",
      "    deep/",
      "      b.ts",
    ])
  })

  test("shows at most 200 entries, those near the top first", async () => {
    const files = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`a/f${i}`, ""]))
    await using context = await toolContext({ files: { ...files, "z/x": "", top: "" } })
    const { output, metadata } = await context.call(listTool, {})
    expect(output).toContain("\n  top")
    expect(output).toContain("\n  z/ …")
    expect(output).toMatch(/more than fits here/)
    expect(metadata).toMatchObject({ count: 200, truncated: true })
  })

  test("leaves out files that may not be read, and counts them", async () => {
    await using context = await toolContext({
      files: { ".env": "", "a.txt": "", "src/.env": "" },
      rules: { read: { "*": "allow", "*.env": "deny" } },
    })
    const { output } = await context.call(listTool, {})
    expect(linesOf(output)).toEqual([
      "./",
      "  a.txt",
      "  src/",
      "(2 files are left out: reading is not allowed.)",
    ])
  })

  test("says that an empty directory is empty", async () => {
    await using context = await toolContext()
    expect((await context.call(listTool, {})).output).toBe("./\n  (nothing)")
  })
})

describe("ripgrep", () => {
  /** An endless file: a search of it continues until it is stopped. */
  const endless = ["--regexp=needle", "--text", "--", "/dev/zero"]

  test("is killed when the call is aborted", async () => {
    await using context = await toolContext()
    const run = ripgrep({ args: endless, directory: context.root, outputBytesMax: 1_000, context })
    setTimeout(() => context.abort(new Error("stopped by the user")), 30)
    await expect(run).rejects.toThrow("stopped by the user")
  })

  test("is killed after the timeout", async () => {
    await using context = await toolContext()
    const run = ripgrep({
      args: endless,
      directory: context.root,
      outputBytesMax: 1_000,
      context,
      timeoutMs: 30,
    })
    await expect(run).rejects.toThrow(/took too long/)
  })

  test("is stopped when it prints too much", async () => {
    await using context = await toolContext({ files: { "a.txt": "needle\n".repeat(100_000) } })
    const args = ["--regexp=needle", "--", "a.txt"]
    const { stdout, cut } = await ripgrep({ args, directory: context.root, outputBytesMax: 1_000, context })
    expect({ bytes: stdout.length, cut }).toEqual({ bytes: 1_000, cut: true })
  })

  test("gets the environment of tools and nothing else", async () => {
    await using context = await toolContext({ files: { "a.txt": "x\n" }, environment: { ONLY: "this" } })
    const script = join(context.root, "environment.sh")
    await writeFile(script, "#!/bin/sh\n/usr/bin/env\n")
    await chmod(script, 0o755)
    const args = ["--pre", script, "--regexp=.*=", "--no-filename", "--no-line-number", "--", "a.txt"]
    const { stdout } = await ripgrep({ args, directory: context.root, outputBytesMax: 10_000, context })
    const names = stdout
      .toString()
      .split("\n")
      .map((line) => line.split("=")[0])
    expect(names.filter((name) => !["ONLY", "PWD", "SHLVL", "_", "OLDPWD", ""].includes(name!))).toEqual([])
    expect(names).toContain("ONLY")
  })
})
