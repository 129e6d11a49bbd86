import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { until } from "../support/run-scene.ts"
import { data, type OpencodeScene, opencodeScene, watch } from "../support/server/opencode-scene.ts"

const text = (words: string) => [{ type: "text" as const, text: words }]

async function session(scene: OpencodeScene): Promise<string> {
  return (await data(scene.client.session.create({ directory: scene.directory }))).id
}

describe("a question that is open", () => {
  test("its call is running and has its input, in events and when messages are read", async () => {
    await using scene = await opencodeScene({
      config: { permission: { bash: "ask" } },
      script: [{ calls: [{ tool: "bash", input: { command: "git tag v1" } }] }, { text: "Done." }],
    })
    const { client, directory } = scene
    using watched = await watch(client, { directory })
    const sessionID = await session(scene)
    const running = client.session.prompt({ sessionID, parts: text("Go") })
    const asked = await watched.next("permission.asked")
    const { callID, messageID } = asked.properties.tool!
    const expected = { callID, tool: "bash", state: { status: "running", input: { command: "git tag v1" } } }
    const event = watched.events.findLast(
      (one) => one.type === "message.part.updated" && one.properties.part.type === "tool",
    )
    expect(event).toMatchObject({ properties: { part: expected } })
    const { parts } = await data(client.session.message({ sessionID, messageID }))
    expect(parts.find(({ type }) => type === "tool")).toMatchObject(expected)
    await data(client.permission.reply({ requestID: asked.properties.id, reply: "once" }))
    await data(running)
  })
})

describe("a prompt to a busy session", () => {
  test("is shown at once, after the unfinished answer, and once it is taken it is the same message", async () => {
    const go = Promise.withResolvers<void>()
    await using scene = await opencodeScene({ script: async () => go.promise.then(() => ({ text: "Yes." })) })
    const { client, directory } = scene
    using watched = await watch(client, { directory })
    const sessionID = await session(scene)
    const first = client.session.prompt({ sessionID, parts: text("First") })
    await watched.next("message.updated", ({ properties: { info } }) => info.role === "assistant")
    const second = client.session.prompt({ sessionID, parts: text("Second, please") })
    const shown = await watched.next(
      "message.part.updated",
      ({ properties: { part } }) => part.type === "text" && part.text === "Second, please",
    )
    const { messageID } = shown.properties.part
    const listed = await data(client.session.messages({ sessionID }))
    expect(listed.map(({ info }) => info.role)).toEqual(["user", "assistant", "user"])
    expect(listed[2]).toMatchObject({ info: { id: messageID }, parts: [{ text: "Second, please" }] })
    const queued = listed[2]!.info
    go.resolve()
    await data(first)
    await data(second)
    const after = await data(client.session.messages({ sessionID }))
    expect(after.map(({ info }) => info.role)).toEqual(["user", "assistant", "user", "assistant"])
    // OpenCode's terminal sorts by the time and the id: a message whose time changes would be shown twice.
    expect(after[2]!.info).toMatchObject({ id: queued.id, time: { created: queued.time.created } })
    const told = watched.events.filter(
      (event) => event.type === "message.updated" && event.properties.info.id === messageID,
    )
    for (const event of told) {
      if (event.type === "message.updated")
        expect(event.properties.info.time.created).toBe(queued.time.created)
    }
  })
})

describe("messages and parts that a client takes away or changes", () => {
  const script = () => ({ text: "Yes." })

  test("the last message is reverted with its files, an earlier message is redacted", async () => {
    await using scene = await opencodeScene({
      git: true,
      files: { "a.txt": "before\n" },
      script: [
        { text: "First." },
        { calls: [{ tool: "write", input: { filePath: "b.txt", content: "b\n" } }] },
        { text: "Second." },
      ],
    })
    const { client, directory } = scene
    const sessionID = await session(scene)
    await data(client.session.prompt({ sessionID, parts: text("One") }))
    await data(client.session.prompt({ sessionID, parts: text("Two") }))
    const history = await data(client.session.messages({ sessionID }))
    const last = history.at(-1)!.info.id
    expect(await data(client.session.deleteMessage({ sessionID, messageID: last }))).toBe(true)
    expect((await data(client.session.get({ sessionID }))).revert?.messageID).toBe(last)
    expect(await readFile(join(directory, "b.txt"), "utf8")).toBe("b\n")
    await data(client.session.unrevert({ sessionID }))

    const early = history[1]!.info.id
    expect(await data(client.session.deleteMessage({ sessionID, messageID: early }))).toBe(true)
    const { parts } = await data(client.session.message({ sessionID, messageID: early }))
    expect(JSON.stringify(parts)).not.toContain("First.")
    expect((await client.session.deleteMessage({ sessionID, messageID: "msg_none" })).response.status).toBe(
      404,
    )
  })

  test("a deleted part loses its content for good", async () => {
    await using scene = await opencodeScene({ script })
    const { client } = scene
    const sessionID = await session(scene)
    const { info, parts } = await data(client.session.prompt({ sessionID, parts: text("Hello") }))
    const part = parts.find(({ type }) => type === "text")!
    const target = { sessionID, messageID: info.id, partID: part.id }
    expect(await data(client.part.delete(target))).toBe(true)
    const read = await data(client.session.message({ sessionID, messageID: info.id }))
    expect(read.parts.find(({ id }) => id === part.id)).toMatchObject({ text: "[redacted]" })
    expect((await client.part.delete({ ...target, partID: "prt_none" })).response.status).toBe(404)
  })

  test("a changed part keeps its content and gets a note, which other clients are told", async () => {
    await using scene = await opencodeScene({ script })
    const { client, directory } = scene
    using watched = await watch(client, { directory })
    const sessionID = await session(scene)
    const { info, parts } = await data(client.session.prompt({ sessionID, parts: text("Hello") }))
    const part = parts.find(({ type }) => type === "text")!
    if (part.type !== "text") throw new Error("not a text")
    const target = { sessionID, messageID: info.id, partID: part.id }
    const noted = { ...part, metadata: { note: { text: "No!", metadata: { by: "me" } } } }
    const changed = { ...part, text: "No!", metadata: { by: "me" } }
    expect(await data(client.part.update({ ...target, part: changed }))).toEqual(noted)
    const read = await data(client.session.message({ sessionID, messageID: info.id }))
    expect(read.parts.find(({ id }) => id === part.id)).toEqual(noted)
    await watched.next("message.part.updated", ({ properties }) => properties.part.id === part.id)
    await until("the note is told", () =>
      watched.events.some((event) => JSON.stringify(event).includes('"note":{"text":"No!"')),
    )
    const start = parts.find(({ type }) => type === "step-start")!
    const refused = await client.part.update({ ...target, partID: start.id, part: start })
    expect(refused.response.status).toBe(400)
    const absent = await client.part.update({ ...target, partID: "prt_none", part })
    expect(absent.response.status).toBe(404)
  })

  test("two notes at once are both kept", async () => {
    await using scene = await opencodeScene({
      script: [{ reasoning: "Hm.", text: "Yes." }],
    })
    const { client } = scene
    const sessionID = await session(scene)
    const { info, parts } = await data(client.session.prompt({ sessionID, parts: text("Hello") }))
    const wanted = parts.filter(({ type }) => type === "text" || type === "reasoning")
    expect(wanted).toHaveLength(2)
    await Promise.all(
      wanted.map((part) =>
        data(client.part.update({ sessionID, messageID: info.id, partID: part.id, part: { ...part } })),
      ),
    )
    const read = await data(client.session.message({ sessionID, messageID: info.id }))
    expect(JSON.stringify(read.parts).match(/"note":/g)).toHaveLength(2)
  })
})

test("a session that is too short to be summarised stays as it is, and the call is accepted", async () => {
  await using scene = await opencodeScene({ script: () => ({ text: "Yes." }) })
  const { client } = scene
  const sessionID = await session(scene)
  await data(client.session.prompt({ sessionID, parts: text("Hello") }))
  const model = { providerID: "scripted", modelID: "m" }
  expect(await data(client.session.summarize({ sessionID, ...model }))).toBe(true)
  expect(await data(client.session.messages({ sessionID }))).toHaveLength(2)
  for (const words of ["One", "Two", "Three"])
    await data(client.session.prompt({ sessionID, parts: text(words) }))
  expect(await data(client.session.summarize({ sessionID, ...model }))).toBe(true)
})

test("init lets the agent describe the project, by the config's own command if there is one", async () => {
  await using scene = await opencodeScene({ script: () => ({ text: "Done." }) })
  const { client } = scene
  const sessionID = await session(scene)
  const ids = { providerID: "scripted", modelID: "other", messageID: "msg_init" }
  expect(await data(client.session.init({ sessionID, ...ids }))).toBe(true)
  const [prompt] = await data(client.session.messages({ sessionID }))
  expect(prompt).toMatchObject({ info: { id: "msg_init", model: { modelID: "other" } } })
  expect(JSON.stringify(prompt!.parts)).toContain("AGENTS.md")

  const config = { command: { init: { template: "Do it my way" } } }
  await using own = await opencodeScene({ config, script: () => ({ text: "Done." }) })
  const { id } = await data(own.client.session.create())
  await data(own.client.session.init({ sessionID: id }))
  const [first] = await data(own.client.session.messages({ sessionID: id }))
  expect(first!.parts).toMatchObject([{ text: "Do it my way" }])
})
