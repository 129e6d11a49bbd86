import { execFile } from "node:child_process"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { partsOf, type RunScene, type RunSceneOptions, runScene } from "../support/run-scene.ts"
import { randomFrom, testSeed } from "../support/seed.ts"

const { seed } = testSeed("reverts")

const run = promisify(execFile)

function write(filePath: string, content: string) {
  return { calls: [{ tool: "write", input: { filePath, content } }] }
}

async function scene(options: RunSceneOptions = {}): Promise<RunScene> {
  return runScene({
    git: true,
    files: { "mine.txt": "a person's\n", ".gitignore": "ignored.txt\n" },
    script: [
      write("a.txt", "first\n"),
      { text: "Made a.txt." },
      {
        calls: [
          { tool: "bash", input: { command: "echo second > a.txt; echo b > b.txt; echo i > ignored.txt" } },
        ],
      },
      { text: "Changed it." },
      { text: "After." },
      { text: "After that." },
    ],
    ...options,
  })
}

async function file(one: RunScene, name: string): Promise<string | undefined> {
  return readFile(join(one.directory, name), "utf8").catch(() => undefined)
}

test("a revert restores only the files that the reverted messages changed; unrevert undoes that", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  await session.prompt("Make it")
  const second = await session.prompt("Change it")
  await writeFile(join(one.directory, "mine.txt"), "changed by a person\n")
  expect(await file(one, "a.txt")).toBe("second\n")

  const prompt = second.message.parentID
  const reverted = await one.stemma.sessions.revert(session.id, { messageID: prompt })
  expect(reverted.notice).toBeUndefined()
  expect(reverted.files.sort()).toEqual(["a.txt", "b.txt"])
  expect(await file(one, "a.txt")).toBe("first\n")
  expect(await file(one, "b.txt")).toBeUndefined()
  expect(await file(one, "ignored.txt")).toBe("i\n")
  expect(await file(one, "mine.txt")).toBe("changed by a person\n")
  expect(reverted.session.revert).toMatchObject({
    messageID: prompt,
    diff: expect.stringContaining("-second"),
  })
  expect(await session.text()).not.toContain("Changed it.")

  const back = await one.stemma.sessions.unrevert(session.id)
  expect(back.session.revert).toBeUndefined()
  expect(await file(one, "a.txt")).toBe("second\n")
  expect(await file(one, "b.txt")).toBe("b\n")
  expect(await file(one, "mine.txt")).toBe("changed by a person\n")
  expect(await session.text()).toContain("Changed it.")
})

test("a second revert goes further back, and one unrevert undoes both", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  const first = await session.prompt("Make it")
  const second = await session.prompt("Change it")
  await one.stemma.sessions.revert(session.id, { messageID: second.message.parentID })
  await one.stemma.sessions.revert(session.id, { messageID: first.message.parentID })
  expect(await file(one, "a.txt")).toBeUndefined()
  await one.stemma.sessions.unrevert(session.id)
  expect(await file(one, "a.txt")).toBe("second\n")
  expect(await file(one, "b.txt")).toBe("b\n")
})

test("the next prompt applies a revert, and the model is not shown the reverted messages", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  await session.prompt("Make it")
  const second = await session.prompt("Change it")
  await one.stemma.sessions.revert(session.id, { messageID: second.message.parentID })
  const reply = await session.prompt("Another way")
  expect(reply.text).toBe("After.")
  const shown = JSON.stringify(one.model.requests.at(-1)!.messages)
  expect(shown).toContain("Another way")
  expect(shown).not.toContain("Change it")
  expect((await session.info()).revert).toBeUndefined()
  expect((await session.prompt("Go on")).text).toBe("After that.")
  expect((await session.messages()).map(({ position }) => position)).toEqual([0, 1, 2, 3, 4, 5, 6])
})

test("a revert to a part keeps the parts before it", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  await session.prompt("Make it")
  const [call] = partsOf(await session.messages(), "tool")
  await one.stemma.sessions.revert(session.id, { messageID: call!.messageID, partID: call!.id })
  expect(await file(one, "a.txt")).toBeUndefined()
  expect((await session.prompt("Go")).error).toBeUndefined()
})

test("the summary is that of the visible messages after any sequence of reverts, and whole again after unrevert", async () => {
  const random = randomFrom(seed)
  const contents = ["first\n", "first\nsecond\n", "third\n"]
  await using one = await runScene({
    git: true,
    script: [
      ...contents.flatMap((content, turn) => [write("a.txt", content), { text: `Turn ${turn}.` }]),
      write("b.txt", "b\n"),
      { text: "Turn 3." },
    ],
  })
  const session = await one.stemma.sessions.create()
  const changes = async () =>
    Object.fromEntries(
      ((await session.info()).summary?.diffs ?? []).map(({ file, before, after }) => [file, [before, after]]),
    )
  const expected: Record<string, string[]>[] = [{}]
  for (let turn = 0; turn < 4; turn++) {
    await session.prompt(`Turn ${turn}`)
    expected.push(await changes())
  }
  expect(expected[3]).toEqual({ "a.txt": ["", "third\n"] })
  expect(expected[4]).toEqual({ "a.txt": ["", "third\n"], "b.txt": ["", "b\n"] })
  const prompts = (await session.messages()).filter(({ message }) => message.role === "user")
  const trace: number[] = []
  for (let step = 0; step < 8; step++) {
    const turn = step < 3 ? [1, 0, 1][step]! : Math.floor(random() * 4)
    trace.push(turn)
    await one.stemma.sessions.revert(session.id, { messageID: prompts[turn]!.message.id })
    expect(await changes(), `reverts to ${trace}`).toEqual(expected[turn])
    expect(await file(one, "a.txt")).toBe(expected[turn]!["a.txt"]?.[1])
  }
  await one.stemma.sessions.unrevert(session.id)
  expect(await changes(), `reverts to ${trace}, unrevert`).toEqual(expected[4])
  expect((await session.info()).summary).toMatchObject({ additions: 2, deletions: 0, files: 2 })
})

test("the session and its prompts have a summary of the file changes", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  await session.prompt("Make it")
  expect((await session.info()).summary).toMatchObject({ additions: 1, deletions: 0, files: 1 })
  await session.prompt("Change it")
  const { summary } = await session.info()
  expect(summary).toMatchObject({ additions: 2, deletions: 0, files: 2 })
  expect(summary!.diffs!.map(({ file, after }) => [file, after]).sort()).toEqual([
    ["a.txt", "second\n"],
    ["b.txt", "b\n"],
  ])
  const prompts = (await session.messages()).filter(({ message }) => message.role === "user")
  expect(prompts[1]!.notes?.summary).toMatchObject({ diffs: [{ file: "a.txt" }, { file: "b.txt" }] })
  await one.stemma.sessions.revert(session.id, { messageID: prompts[1]!.message.id })
  expect((await session.info()).summary).toMatchObject({ additions: 1, deletions: 0, files: 1 })
})

test("the user's own repository, index and config are untouched", async () => {
  await using one = await scene()
  const git = async (...args: string[]) => (await run("git", ["-C", one.directory, ...args])).stdout
  await git("add", "mine.txt")
  const before = [
    await git("status", "--porcelain"),
    await readFile(join(one.directory, ".git", "config"), "utf8"),
  ]
  const session = await one.stemma.sessions.create()
  await session.prompt("Make it")
  await session.prompt("Change it")
  await rm(join(one.directory, "a.txt"))
  await rm(join(one.directory, "b.txt"))
  await rm(join(one.directory, "ignored.txt"))
  expect([
    await git("status", "--porcelain"),
    await readFile(join(one.directory, ".git", "config"), "utf8"),
  ]).toEqual(before)
})

test.each([
  ["the program", { snapshots: false }],
  ["the config", { config: { snapshot: false } }],
])("if %s switches snapshots off, a revert reports that files are not restored", async (_, off) => {
  await using one = await scene(off)
  const session = await one.stemma.sessions.create()
  const reply = await session.prompt("Make it")
  const reverted = await one.stemma.sessions.revert(session.id, { messageID: reply.message.parentID })
  expect(reverted.notice).toContain("not restored")
  expect(await file(one, "a.txt")).toBe("first\n")
})

test("a busy session is not reverted", async () => {
  await using one = await scene({ script: [{ text: "One." }, { text: "Slow.", delayMs: 3000 }] })
  const session = await one.stemma.sessions.create()
  const first = await session.prompt("One")
  const second = session.prompt("Two")
  await second.admitted
  await expect(
    one.stemma.sessions.revert(session.id, { messageID: first.message.parentID }),
  ).rejects.toMatchObject({ code: "conflict" })
  await session.abort()
  await second
})

test("a revert to an unknown message changes nothing", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  await session.prompt("Make it")
  await expect(one.stemma.sessions.revert(session.id, { messageID: "msg_nowhere" })).rejects.toMatchObject({
    code: "not_found",
  })
  expect((await session.info()).revert).toBeUndefined()
  expect(await file(one, "a.txt")).toBe("first\n")
})

describe("a title that came from a prompt", () => {
  const words = "secret plan alpha"
  const prompts = async (one: RunScene) => {
    const session = await one.stemma.sessions.create()
    await session.append({ role: "user", text: "a note" })
    await session.prompt(words)
    await one.stemma.sessions.update(session.id, { title: words })
    const [, prompt] = await session.messages()
    return { session, prompt: prompt!, title: async () => (await session.info()).title }
  }

  test("is reset when a revert removes the prompt, at the message or at its first part", async () => {
    for (const isPart of [false, true]) {
      await using one = await runScene({ script: () => ({ text: "Done." }), config: { title: false } })
      const { session, prompt, title } = await prompts(one)
      const messageID = prompt.message.id
      const mark = isPart ? { messageID, partID: prompt.parts[0]!.id } : { messageID }
      await one.stemma.sessions.revert(session.id, mark)
      expect(await title()).toBe(words)
      await session.prompt("fresh start")
      expect(await title()).toBe("fresh start")
    }
  })

  test("stays while the prompt stays, and if a caller chose another title", async () => {
    await using one = await runScene({ script: () => ({ text: "Done." }), config: { title: false } })
    const { session, prompt, title } = await prompts(one)
    await session.prompt("more")
    const later = (await session.messages()).at(-2)!.message.id
    await one.stemma.sessions.revert(session.id, { messageID: later })
    await session.prompt("other")
    expect(await title()).toBe(words)
    await one.stemma.sessions.update(session.id, { title: "Mine" })
    await one.stemma.sessions.revert(session.id, { messageID: prompt.message.id })
    await session.prompt("again")
    expect(await title()).toBe("Mine")
  })

  test("is not used by a fork without the prompt", async () => {
    await using one = await runScene({ script: () => ({ text: "Done." }), config: { title: false } })
    const { session, prompt } = await prompts(one)
    const { sessions } = one.stemma
    const messageID = prompt.message.id
    const titleOf = async (options: { messageID?: string; title?: string } = {}) =>
      (await (await sessions.fork(session.id, options)).info()).title
    expect(await titleOf()).toBe(words)
    expect(await titleOf({ messageID })).toMatch(/^New session/)
    expect(await titleOf({ messageID, title: "Given" })).toBe("Given")
    await sessions.revert(session.id, { messageID })
    expect(await titleOf()).toMatch(/^New session/)
    const fork = await sessions.fork(session.id)
    await fork.prompt("fresh start")
    expect((await fork.info()).title).toBe("fresh start")
  })
})
