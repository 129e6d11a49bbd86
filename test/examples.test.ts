import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { temporaryDirectory } from "./support/temporary-directory.ts"

/** What each example must say, in this order. */
const expected: Record<string, (string | RegExp)[]> = {
  "01-hello.ts": [
    "a sqlite store in a temporary directory.",
    "The session: 4 messages",
    "[USER] Where is the config? 配置文件在哪里？",
    "[TOOL] tool_result: biome.json",
    "A fork, from before the third message: 3 messages",
    "[USER] Explain it.",
    "The session after a revert: 3 messages",
    "[USER] Rename it, please.",
    "Left behind, still readable: 2 messages.",
    "Search config: 2 found",
    "title: Where is the config?",
    /text: .*config.* \(shared with 1 more\)/,
    "Search package.json: 2 found",
    "Search 配置: 1 found",
    "Search deleted: 1 found",
    "text: Deleted. (left behind)",
  ],
  "02-crash.ts": [
    /The writer was killed after \d+ characters were acknowledged\./,
    /Opened again: \d+ characters, ending in ".*word \d+, "; sealed: false\./,
    "Nothing acknowledged is missing.",
    "Sealed by the next holder, with fence 2.",
  ],
  "03-two-processes.ts": [
    /Process \d+ watches, process \d+ writes\./,
    "position 0: Can you hear me?",
    "position 1: 听得到吗？",
    "position 2: Good.",
    "Heard all 3 messages.",
  ],
}

describe("the examples", () => {
  test("are all here", () => {
    const numbered = readdirSync("examples").filter((name) => /^\d/.test(name))
    expect(numbered).toEqual(Object.keys(expected))
  })

  test.each(Object.entries(expected))("%s says what it does and cleans up", async (name, lines) => {
    await using directory = await temporaryDirectory()
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [`examples/${name}`], {
      env: { ...process.env, TMPDIR: directory.path },
      timeout: 30_000,
    })
    expect(stderr).toBe("")
    let rest = stdout
    for (const line of lines) {
      const at = typeof line === "string" ? rest.indexOf(line) : rest.search(line)
      expect(at, `${name} must say ${line} after what came before:\n${stdout}`).toBeGreaterThanOrEqual(0)
      rest = rest.slice(at + 1)
    }
    expect(readdirSync(directory.path)).toEqual([])
  })
})
