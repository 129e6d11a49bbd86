import { execFile } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
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
  "04-agent.ts": [
    /^Model: demo\/guide\. Directory: .*tea-shop$/m,
    "You: Read README.md and find *.md.",
    '> read {"filePath":"README.md"}',
    "README.md has 3 lines.",
    "? edit notes.txt: once",
    "< notes.txt",
    "Buy more oolong",
    "< 2 todos",
    "The transcript, as it is kept:",
    "[USER] Read README.md and find *.md.",
    "[TOOL] tool_use: write",
    "[ASSISTANT] The todo list has 2 entries now, 0 of them done.",
    "Now you: node examples/04-agent.ts",
  ],
  "05-tool-and-model.ts": [
    "[TOOL] tool_result: 2 cups of oolong are ready.",
    "[TOOL] tool_result: error: Not allowed: brew coffee.",
    "[TOOL] tool_result: error: The input of brew is not valid.",
    "Try 1 failed: Too many requests.",
    "The model was asked 5 times; the answer: There is oolong, and no coffee.",
  ],
  "06-steer-abort-resume.ts": [
    "first:   Tea without sugar, then.",
    "steered: Tea without sugar, then.",
    "queued:  Cake comes after the tea.",
    "[TOOL] tool_result: The water boils.\n[USER] No sugar!\n[ASSISTANT] Tea without sugar, then.",
    "[USER] And cake?\n[ASSISTANT] Cake comes after the tea.",
    'Aborted: aborted, "word 0 word 1',
    "Closed: interrupted. Opened again: [ASSISTANT] Where was I? Ah, the end.",
  ],
  "07-revert-files.ts": [
    "Two prompts later: the menu says coffee; there are coffee.txt, menu.txt, oolong.txt",
    "The session changed 3 files: 3 lines added, 1 removed.",
    "Reverted coffee.txt, menu.txt: the menu says oolong; there are menu.txt, mine.txt, oolong.txt",
    "Unreverted: the menu says coffee; there are coffee.txt, menu.txt, mine.txt, oolong.txt",
    "The fork has 4 messages of 7.",
    "Here I know of oolong only.",
  ],
  "08-permission.ts": [
    "Asked: bash wc -l menu.txt. The person says always, for wc *.",
    "Counting lines: 1 menu.txt",
    "The same kind again is not asked: 4 menu.txt",
    "A deny is never asked: error: Not allowed: bash rm menu.txt.",
    "Revoked: bash wc *",
    "With nobody there: error: Not allowed: bash wc menu.txt needs a person's permission",
  ],
  "09-context.ts": [
    "The answer: Nothing is slower than 31 ms.",
    /Compacted by itself: about \d+ tokens before, \d+ after\./,
    "The ledger:",
    "SHOP-417",
    /Next: about \d+ tokens, \d+ % of the window\./,
    /Hidden by compaction: \d+ messages\./,
    "The whole history is there: true",
  ],
  "10-subagents.ts": [
    "2 children were named while they worked.",
    "Read menu.txt: read menu.txt",
    "Read stock.txt: read stock.txt",
    "The first child:\n[USER] Read menu.txt.",
    "[USER] Which is dearest?\n[ASSISTANT] Sencha: I have read the menu before.",
    "Asked 1 below: edit sold.txt",
    "/count gave:",
    "2 lines.",
    /^The shop\nRead \w+\.txt \(@explore subagent\)\nRead \w+\.txt \(@explore subagent\)$/m,
    "Put sencha into sold.txt (@general subagent)\ncount (@explore subagent)",
    /\$0\.0\d+ for the session, \$0\.0\d+ for all 5\./,
  ],
  "11-server.ts": [
    "Without the token: 401",
    "Asked over HTTP: edit menu.txt",
    "The answer: The menu has oolong.",
    "Missed: A cup is 3.",
    "The replica has 5 messages, 4 texts.",
    "Shared: 200, with the key: false, with the menu: true",
    "Unshared: 404",
  ],
}

/** Nothing of whoever runs the tests: no key, no config, no Ollama. */
function environment(home: string): Record<string, string | undefined> {
  // Only compiled code is shared.
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const own = { HOME: home, TMPDIR: home, STEMMA_CONFIG: join(home, "config"), OLLAMA_HOST: "127.0.0.1:1" }
  return { PATH, NODE_COMPILE_CACHE, ...own }
}

describe("the examples", () => {
  test("are all here", () => {
    const numbered = readdirSync("examples").filter((name) => /^\d/.test(name))
    // The first example is the code of the README, and is tested with it.
    expect(numbered).toEqual(["00-first.ts", ...Object.keys(expected)])
  })

  test.each(Object.entries(expected))("%s says what it does and cleans up", async (name, lines) => {
    await using directory = await temporaryDirectory()
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [`examples/${name}`], {
      env: environment(directory.path),
      timeout: 100_000,
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

describe("the agent of the examples, with a prompt", () => {
  const example = resolve("examples/04-agent.ts")

  async function start(home: string, prompt: string) {
    const project = join(home, "project")
    await mkdir(project, { recursive: true })
    const options = { cwd: project, env: environment(home), timeout: 100_000 }
    return promisify(execFile)(process.execPath, [example, prompt], options).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    )
  }

  test("asks in the working directory and comes back to the same session", async () => {
    await using home = await temporaryDirectory()
    await mkdir(join(home.path, "project"))
    await writeFile(join(home.path, "project", "menu.txt"), "oolong\n")
    expect((await start(home.path, "todo: order tea")).code).toBe(0)
    const { code, stdout, stderr } = await start(home.path, "read menu.txt and show my todos")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain("oolong")
    expect(stdout).toContain("order tea")
  })

  test("refuses what nobody is there to permit", async () => {
    await using home = await temporaryDirectory()
    const { code, stdout } = await start(home.path, "write hello to b.txt")
    expect(code).toBe(0)
    expect(stdout).toContain("no person is there to ask")
    expect(existsSync(join(home.path, "project", "b.txt"))).toBe(false)
  })

  test("says in a sentence what is wrong", async () => {
    await using home = await temporaryDirectory()
    await mkdir(join(home.path, "config"))
    const config = join(home.path, "config", "stemma.json")
    await writeFile(config, '{ "model": "anthropic/claude" }')
    expect(await start(home.path, "hello")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^\nThere is no key for Anthropic: set ANTHROPIC_API_KEY.*\n$/),
    })
    await writeFile(config, '{ "model": 3 }')
    expect(await start(home.path, "hello")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^\n.*stemma\.json:1:12: model: .*\n$/),
    })
  })

  test("ends the answer at Ctrl-C, with what it runs", async () => {
    await using home = await temporaryDirectory()
    await mkdir(join(home.path, "config"))
    await writeFile(join(home.path, "config", "stemma.json"), '{ "permission": { "bash": "allow" } }')
    const options = { cwd: home.path, env: environment(home.path) }
    const child = execFile(process.execPath, [example, "run sleep 600"], options)
    let stderr = ""
    child.stderr!.on("data", (text: string) => {
      stderr += text
    })
    child.stdout!.on("data", (text: string) => {
      if (text.includes("> bash")) child.kill("SIGINT")
    })
    const [code] = await once(child, "exit")
    expect({ code, stderr }).toEqual({ code: 1, stderr: "\nYou stopped it.\n" })
  })

  test("shows no control characters that somebody else wrote", async () => {
    await using home = await temporaryDirectory()
    const { stdout } = await start(home.path, "read \u001b[31mred.txt")
    expect(stdout).toContain("[31mred.txt")
    expect(stdout).not.toContain("\u001b")
  })
})
