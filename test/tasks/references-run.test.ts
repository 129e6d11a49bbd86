import { access, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { createID, type PermissionRequest, type SessionHandle } from "../../src/index.ts"
import { killedPrompt } from "../support/killed-prompt.ts"
import { promptParts } from "../support/prompt-parts.ts"
import { answered, assertValid, type RunSceneOptions, runScene, until } from "../support/run-scene.ts"

const scene = (options: RunSceneOptions = {}) => runScene({ script: () => ({ text: "Done." }), ...options })
const asking = { permission: { bash: "ask", edit: "allow" } } as const
const newMessageID = () => createID("message", Date.now())

async function question(session: SessionHandle): Promise<PermissionRequest> {
  await until("there is a question", async () => (await session.questions()).length > 0)
  return (await session.questions())[0]!
}

async function untilExists(path: string): Promise<void> {
  await until(`there is ${path}`, () =>
    access(path).then(
      () => true,
      () => false,
    ),
  )
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe("a prompt with references that is sent again with its messageID", () => {
  test("is the same prompt after it was taken, and nothing runs again", async () => {
    await using at = await scene({ files: { "a.txt": "a" } })
    const session = await at.stemma.sessions.create()
    const messageID = newMessageID()
    const text = "@a.txt !`echo x >> ran`"
    await session.prompt(text, { messageID })
    await writeFile(join(at.directory, "a.txt"), "changed")
    expect((await session.prompt(text, { messageID })).text).toBe("Done.")
    expect(await session.messages()).toHaveLength(2)
    expect(await readFile(join(at.directory, "ran"), "utf8")).toBe("x\n")
    expect(at.model.requests).toHaveLength(1)
    await expect(session.prompt("@a.txt", { messageID })).rejects.toMatchObject({ code: "conflict" })
    await expect(session.prompt(`${text} more`, { messageID })).rejects.toMatchObject({ code: "conflict" })
  })

  test("is the same prompt while it is being resolved", async () => {
    await using at = await scene({ config: asking, interactive: true })
    const session = await at.stemma.sessions.create()
    const messageID = newMessageID()
    const text = "See !`echo x >> ran`"
    const first = session.prompt(text, { messageID })
    const { id } = await question(session)
    const second = session.prompt(text, { messageID })
    await second.admitted
    expect(await session.questions()).toHaveLength(1)
    await at.stemma.permissions.reply(session.id, id, { reply: "once" })
    expect((await first).message.id).toBe((await second).message.id)
    expect(await readFile(join(at.directory, "ran"), "utf8")).toBe("x\n")
  })
})

describe("an abort", () => {
  test("stops a command of a prompt, and the turn is sealed as aborted", async () => {
    await using at = await scene()
    const session = await at.stemma.sessions.create()
    const run = session.prompt("See !`echo $$ > pid; exec sleep 120`")
    const pidFile = join(at.directory, "pid")
    await until("it runs", async () => /\d\n/.test(await readFile(pidFile, "utf8").catch(() => "")))
    const pid = Number(await readFile(pidFile, "utf8"))
    await session.abort("Enough.")
    expect((await run).message).toMatchObject({
      finish: "aborted",
      error: { name: "MessageAbortedError", data: { message: "Enough." } },
    })
    await until("the command is gone", () => !isAlive(pid))
    expect(at.model.requests).toHaveLength(0)
    await assertValid(session)
    expect((await session.prompt("Again")).text).toBe("Done.")
  })

  test("keeps the references that were resolved before it, so that the next answer knows them", async () => {
    await using at = await scene()
    const session = await at.stemma.sessions.create()
    const run = session.prompt("See !`touch ran; echo first` and !`touch started; exec sleep 120`")
    await untilExists(join(at.directory, "started"))
    await session.abort()
    await run
    expect((await promptParts(session)).notes[0]).toContain("\nfirst\n")
  })

  test("closes the question of a reference", async () => {
    await using at = await scene({ config: asking, interactive: true })
    const session = await at.stemma.sessions.create()
    const run = session.prompt("See !`touch ran` and !`touch more`")
    await question(session)
    await session.abort()
    expect((await run).message).toMatchObject({ finish: "aborted" })
    expect(await session.questions()).toEqual([])
    expect(at.model.requests).toHaveLength(0)
  })

  test("that follows a prompt at once is meant for that prompt", async () => {
    await using at = await scene()
    const session = await at.stemma.sessions.create()
    const run = session.prompt("See !`sleep 120`")
    await run.admitted
    await session.abort()
    expect((await run).message).toMatchObject({ finish: "aborted" })
  })
})

test("a steering prompt brings its references", async () => {
  const first = Promise.withResolvers<void>()
  await using at = await scene({
    files: { "a.txt": "a" },
    script: async (_, n) => {
      if (n === 0) await first.promise
      return n === 0 ? { calls: [{ tool: "list", input: {} }] } : { text: "Done." }
    },
  })
  const session = await at.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("the model is asked", () => at.model.requests.length === 1)
  const steered = session.prompt("Also @a.txt")
  await steered.admitted
  first.resolve()
  expect((await run).text).toBe("Done.")
  await steered
  expect((await promptParts(session)).files).toMatchObject([{ filename: "a.txt" }])
  expect(at.model.requests.at(-1)!.messages.at(-1)!.content).toMatchObject([
    { text: "Also @a.txt" },
    { type: "file", filename: "a.txt" },
  ])
})

describe("a process that ends while it resolves a prompt leaves the prompt in the inbox", () => {
  test("after a crash: its question stays, and the next process takes the prompt with its references", async () => {
    await using at = await scene({ files: { "a.txt": "a" }, config: asking, interactive: true })
    const prompt = "See @a.txt and !`echo x >> ran`"
    const { session, messageID } = await killedPrompt(at, { prompt, config: asking }, async (one) => {
      await question(one)
    })
    const { id } = await question(session)
    expect(await session.messages()).toEqual([])
    expect(await at.stemma.store.inbox(session.id)).toMatchObject([{ id: messageID }])
    const server = await at.again({ recover: true })
    const again = await server.sessions.get(session.id)
    await until("somebody works on it", async () => server.status(session.id).type === "busy")
    await server.permissions.reply(session.id, id, { reply: "once" })
    await answered(again)
    const { files, notes } = await promptParts(again)
    expect(files).toMatchObject([{ filename: "a.txt" }])
    expect(notes).toEqual([expect.stringContaining("Output of")])
    expect(await readFile(join(at.directory, "ran"), "utf8")).toBe("x\n")
    expect(await again.questions()).toEqual([])
  })

  test("after a crash: an answer that came while no process ran is used", async () => {
    await using at = await scene({ config: asking })
    const given = { prompt: "See !`echo x >> ran`", config: asking }
    const { session } = await killedPrompt(at, given, async (one) => void (await question(one)))
    const { id } = await question(session)
    await at.stemma.permissions.reply(session.id, id, { reply: "once" })
    const server = await at.again({ recover: true })
    const again = await server.sessions.get(session.id)
    await answered(again)
    expect((await promptParts(again)).notes).toEqual([expect.stringContaining("Output of")])
    expect(await readFile(join(at.directory, "ran"), "utf8")).toBe("x\n")
    expect(await again.questions()).toEqual([])
  })

  test("after a close: the next process resolves and answers the prompt", async () => {
    await using at = await scene({ files: { "a.txt": "a" } })
    const session = await at.stemma.sessions.create()
    const text = "See @a.txt and !`touch started; while [ ! -e go ]; do sleep 0.05; done; echo went`"
    const run = session.prompt(text)
    await untilExists(join(at.directory, "started"))
    const failed = expect(run).rejects.toMatchObject({ code: "unavailable" })
    at.stemma.close().catch(() => {})
    await at.stemma.close()
    await failed
    await writeFile(join(at.directory, "go"), "")
    const server = await at.again({ recover: true })
    const again = await server.sessions.get(session.id)
    await answered(again)
    expect(await again.messages()).toHaveLength(2)
    const { files, notes } = await promptParts(again)
    expect(files).toMatchObject([{ filename: "a.txt" }])
    expect(notes).toEqual([expect.stringMatching(/:\nwent\n$/)])
  })
})
