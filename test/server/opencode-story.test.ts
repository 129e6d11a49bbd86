import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { basic, bearer, data, opencodeScene, watch } from "../support/server/opencode-scene.ts"
import { answersTo, task } from "../support/task-script.ts"

function write(filePath: string, content: string) {
  return { calls: [{ tool: "write", input: { filePath, content } }] }
}

const ways = [
  { way: "a bearer token and directory in the query", headers: bearer, isNamedOnce: false },
  { way: "Basic auth and directory by header", headers: basic, isNamedOnce: true },
]

for (const { way, headers, isNamedOnce } of ways) {
  test(`the OpenCode client runs a whole story, with ${way}`, async () => {
    await using scene = await opencodeScene({
      git: true,
      files: { "readme.md": "Hello\n" },
      config: { permission: { edit: "ask", bash: "allow" } },
      script: answersTo({
        "Make it": [
          write("a.txt", "first\n"),
          { text: ["Made", " it", ",", " slow", "ly."], deltaDelayMs: 60, reasoning: "Hm." },
        ],
        "Change it": [write("a.txt", "second\n"), { text: "Changed it." }],
        "Ask others": [{ calls: [task("Look around")] }, { text: "They have looked." }],
        "Look around": [{ text: "Nothing here." }],
        "Go on": [{ text: "In the fork." }],
      }),
    })
    const { directory } = scene
    const file = () => readFile(join(directory, "a.txt"), "utf8").catch(() => undefined)
    const client = scene.connect({ headers, ...(isNamedOnce && { directory }) })
    const where = isNamedOnce ? {} : { directory }
    using watched = await watch(client, where)

    const session = await data(client.session.create({ ...where, title: "A story" }))
    expect(session).toMatchObject({ title: "A story", directory, slug: expect.stringMatching(/\w/) })
    const sessionID = session.id
    await watched.next("session.created", ({ properties }) => properties.info.id === sessionID)

    const first = client.session.prompt({ ...where, sessionID, parts: [{ type: "text", text: "Make it" }] })
    const asked = await watched.next("permission.asked")
    expect(asked.properties).toMatchObject({ sessionID, permission: "edit", patterns: ["a.txt"] })
    expect(await data(client.permission.list(where))).toMatchObject([{ id: asked.properties.id }])
    expect(await data(client.session.status(where))).toEqual({ [sessionID]: { type: "busy" } })
    expect(
      await data(client.permission.reply({ ...where, requestID: asked.properties.id, reply: "once" })),
    ).toBe(true)
    const made = await data(first)
    expect(made.info).toMatchObject({ role: "assistant", finish: "stop", mode: "build" })
    expect(made.parts.map(({ type }) => type)).toEqual(["step-start", "reasoning", "text", "step-finish"])
    expect(await file()).toBe("first\n")

    await watched.next("permission.replied", ({ properties }) => properties.reply === "once")
    await watched.next("message.part.updated", ({ properties: { part } }) => {
      return part.type === "tool" && part.state.status === "completed"
    })
    const delta = await watched.next("message.part.delta")
    expect(delta.properties).toMatchObject({ sessionID, field: "text" })
    await watched.next("session.idle", ({ properties }) => properties.sessionID === sessionID)
    for (const event of watched.events) expect(event.id).toMatch(/^evt_\w+$/)
    const about = watched.events.filter(
      ({ type }) => !["server.connected", "synced"].includes(type as string),
    )
    for (const { properties } of about) expect(properties).toHaveProperty("sessionID")

    const secondID = "msg_second01"
    const second = client.session.promptAsync({
      ...where,
      sessionID,
      messageID: secondID,
      parts: [{ type: "text", text: "Change it" }],
    })
    expect((await second).response.status).toBe(204)
    const again = await watched.next("permission.asked", ({ properties }) => {
      return properties.id !== asked.properties.id
    })
    const response = { ...where, sessionID, permissionID: again.properties.id, response: "always" as const }
    expect(await data(client.permission.respond(response))).toBe(true)
    await watched.next("message.updated", ({ properties: { info } }) => {
      return info.role === "assistant" && info.parentID === secondID && info.finish === "stop"
    })
    expect(await file()).toBe("second\n")

    const history = await data(client.session.messages({ ...where, sessionID }))
    expect(history.map(({ info }) => info.role).join(" ")).toBe(
      "user assistant assistant user assistant assistant",
    )
    const fork = await data(client.session.fork({ ...where, sessionID, messageID: secondID }))
    const forked = await data(client.session.messages({ ...where, sessionID: fork.id }))
    expect(forked.map(({ info }) => info.id)).toEqual(history.slice(0, 3).map(({ info }) => info.id))
    await data(
      client.session.prompt({ ...where, sessionID: fork.id, parts: [{ type: "text", text: "Go on" }] }),
    )
    expect(await data(client.session.messages({ ...where, sessionID: fork.id }))).toHaveLength(5)
    expect(await data(client.session.messages({ ...where, sessionID }))).toHaveLength(6)

    const reverted = await data(client.session.revert({ ...where, sessionID, messageID: secondID }))
    expect(reverted.revert).toMatchObject({ messageID: secondID })
    expect(await file()).toBe("first\n")
    const back = await data(client.session.unrevert({ ...where, sessionID }))
    expect(back.revert).toBeUndefined()
    expect(await file()).toBe("second\n")

    await data(client.session.prompt({ ...where, sessionID, parts: [{ type: "text", text: "Ask others" }] }))
    const [child, ...more] = await data(client.session.children({ ...where, sessionID }))
    expect(more).toEqual([])
    expect(child).toMatchObject({ parentID: sessionID, directory })
    const said = await data(client.session.messages({ ...where, sessionID: child!.id }))
    expect(said.flatMap(({ parts }) => parts)).toContainEqual(
      expect.objectContaining({ type: "text", text: "Nothing here." }),
    )

    const shared = await data(client.session.share({ ...where, sessionID }))
    expect(shared.share!.url).toMatch(/^http.*\/share\/[\w-]{20,}$/)
    expect((await fetch(shared.share!.url)).status).toBe(200)
    expect((await data(client.session.unshare({ ...where, sessionID }))).share).toBeUndefined()
    expect((await fetch(shared.share!.url)).status).toBe(404)

    expect(await data(client.session.delete({ ...where, sessionID }))).toBe(true)
    const gone = await watched.next("session.deleted", ({ properties }) => properties.sessionID === sessionID)
    expect(gone.properties.info).toMatchObject({ id: sessionID, directory })
    const missing = await client.session.get({ ...where, sessionID })
    expect(missing.response.status).toBe(404)
    expect(missing.error).toMatchObject({ name: "NotFoundError", data: { message: expect.any(String) } })
    expect((await data(client.session.list(where))).map(({ id }) => id)).toEqual([fork.id])
    expect(scene.warnings).toEqual([])
  })
}
