import { describe, expect, test } from "vitest"
import type { Session } from "../../src/protocol/index.ts"
import { until } from "../support/run-scene.ts"
import { type HttpScene, httpScene } from "../support/server/http-scene.ts"
import {
  ask,
  followShared,
  type PublicReader,
  readShared,
  share,
  textsOf,
} from "../support/server/share-scene.ts"

const key = `ghp_${"aB3dE5fGh7JkL9mNpQ2r".repeat(2).slice(0, 36)}`

async function newSession(scene: HttpScene): Promise<string> {
  return (await scene.json<Session>("/sessions", { json: { title: "Followed" } })).id
}

async function synced(reader: PublicReader): Promise<void> {
  await until("the reader has all", () => reader.isSynced)
}

async function shows(reader: PublicReader, texts: readonly string[]): Promise<void> {
  await until(`the reader has ${JSON.stringify(texts)}`, () => {
    return reader.isSynced && JSON.stringify(textsOf(reader.messages)) === JSON.stringify(texts)
  })
}

describe("the stream of a shared session", () => {
  test("sends whole messages only: no part of a secret that is split over deltas is sent", async () => {
    const deltas = ["The key is ", key.slice(0, 9), key.slice(9, 20), key.slice(20), " and that ", "is all."]
    await using scene = await httpScene({ script: [{ text: deltas, deltaDelayMs: 80 }, { text: "second" }] })
    const id = await newSession(scene)
    const path = await share(scene, id)
    using reader = await followShared(scene, path)
    await synced(reader)
    const asked = ask(scene, id, "tell me")
    await until("the prompt is shown", () => textsOf(reader.messages).length === 1)
    await until("it streams", async () => {
      const items = await scene.stemma.store.history(id, {})
      return items.items.some(({ sealed }) => !sealed)
    })
    expect(textsOf(reader.messages)).toEqual(["tell me"])
    expect(textsOf((await readShared(scene, path)).messages)).toEqual(["tell me"])
    await asked
    await shows(reader, ["tell me", "The key is [redacted] and that is all."])
    expect(reader.raw).not.toMatch(/ghp_|delta|piece/)
    for (let at = 4; at + 6 <= key.length; at += 3) expect(reader.raw).not.toContain(key.slice(at, at + 6))
    expect(new Set(reader.types)).toEqual(new Set(["reset", "session", "message", "synced"]))
  })

  test("continues from the page's cursor and from a reader's last id, without repeating messages", async () => {
    await using scene = await httpScene({ script: () => ({ text: "answer" }) })
    const id = await newSession(scene)
    const path = await share(scene, id)
    await ask(scene, id, "one")
    const { cursor } = await readShared(scene, path)
    await ask(scene, id, "two")
    let left: string
    {
      using first = await followShared(scene, path, { since: cursor })
      await shows(first, ["two", "answer"])
      expect(first.types).not.toContain("reset")
      left = first.cursor!
    }
    await ask(scene, id, "three")
    using second = await followShared(scene, path, { since: cursor, lastEventID: left })
    await shows(second, ["three", "answer"])
    expect(second.types).not.toContain("reset")
    for (const wrong of ["nonsense", `${"a".repeat(16)}.1`, left.replace(/\d+$/, "999"), "x".repeat(900)]) {
      using other = await followShared(scene, path, { since: wrong })
      await shows(other, ["one", "answer", "two", "answer", "three", "answer"])
    }
  })

  test("contains title changes", async () => {
    await using scene = await httpScene()
    const id = await newSession(scene)
    using reader = await followShared(scene, await share(scene, id))
    await until("the title is there", () => reader.title === "Followed")
    await scene.json(`/sessions/${id}`, { method: "PATCH", json: { title: `New ${key}` } })
    await until("the title is new", () => reader.title === "New [redacted]")
  })

  test("sends the same to many readers at the same time", async () => {
    await using scene = await httpScene({ script: () => ({ text: "answer" }) })
    const id = await newSession(scene)
    const path = await share(scene, id)
    const readers = await Promise.all(Array.from({ length: 20 }, () => followShared(scene, path)))
    await ask(scene, id, "one")
    for (const reader of readers) {
      await shows(reader, ["one", "answer"])
      reader[Symbol.dispose]()
    }
  })

  test("does not count as the presence of a person who can answer questions", async () => {
    await using scene = await httpScene({
      script: [
        { calls: [{ tool: "bash", input: { command: "echo hi", description: "say hi" } }] },
        { text: "ok" },
      ],
      config: { permission: { bash: "ask" } },
    })
    const id = await newSession(scene)
    using reader = await followShared(scene, await share(scene, id, { tools: true }))
    await synced(reader)
    await scene.call(`/sessions/${id}/ask`, { json: { text: "run it" } })
    await until("the call is received", () => reader.raw.includes('"tool":"bash"'))
    const parts = reader.messages.flatMap((message) => message.parts)
    expect(parts.find((part) => part.type === "tool")).toMatchObject({ tool: "bash", status: "error" })
    expect(reader.types).not.toContain("permission")
  })
})

describe("a reader of a shared session is notified when", () => {
  test("sharing ends: the stream ends immediately, and the address returns 404", async () => {
    await using scene = await httpScene({ script: () => ({ text: "answer" }) })
    const id = await newSession(scene)
    const path = await share(scene, id)
    using reader = await followShared(scene, path)
    await synced(reader)
    await scene.json(`/sessions/${id}/share`, { method: "DELETE" })
    expect(await reader.ended).toBe(true)
    expect(reader.types.at(-1)).toBe("ended")
    await ask(scene, id, "after")
    expect(reader.raw).not.toContain("after")
    expect((await fetch(scene.url + path)).status).toBe(404)
    using late = await followShared(scene, path, { since: reader.cursor! })
    expect(late.status).toBe(404)
  })

  test("sharing ends while an answer streams: no text of the answer was sent", async () => {
    await using scene = await httpScene({
      script: [{ text: ["never ", "to be ", "seen"], deltaDelayMs: 60 }],
    })
    const id = await newSession(scene)
    using reader = await followShared(scene, await share(scene, id))
    await synced(reader)
    const asked = ask(scene, id, "go")
    await until("the prompt is shown", () => reader.messages.length === 1)
    await scene.json(`/sessions/${id}/share`, { method: "DELETE" })
    expect(await reader.ended).toBe(true)
    await asked
    expect(reader.raw).not.toMatch(/never|to be|seen/)
  })

  test("the session is removed", async () => {
    await using scene = await httpScene()
    const id = await newSession(scene)
    const path = await share(scene, id)
    using reader = await followShared(scene, path)
    await synced(reader)
    await scene.json(`/sessions/${id}`, { method: "DELETE" })
    expect(await reader.ended).toBe(true)
    expect(reader.types.at(-1)).toBe("ended")
    expect((await fetch(scene.url + path)).status).toBe(404)
  })

  test("the share options change: the stream ends, and a new stream begins with a reset", async () => {
    await using scene = await httpScene({ script: [{ text: "said", reasoning: "thought" }] })
    const id = await newSession(scene)
    const path = await share(scene, id, { reasoning: true })
    await ask(scene, id, "one")
    using reader = await followShared(scene, path)
    await shows(reader, ["one", "said"])
    expect(reader.raw).toContain("thought")
    expect(await share(scene, id)).toBe(path)
    expect(await reader.ended).toBe(true)
    expect(reader.types.at(-1)).toBe("changed")
    using again = await followShared(scene, path, { since: reader.cursor! })
    await shows(again, ["one", "said"])
    expect(again.types[0]).toBe("reset")
    expect(again.raw).not.toContain("thought")
  })

  test("a revert hides messages, is undone, and is committed by the next prompt", async () => {
    await using scene = await httpScene({ script: (_, at) => ({ text: `answer ${at + 1}` }) })
    const id = await newSession(scene)
    const path = await share(scene, id)
    await ask(scene, id, "one")
    await ask(scene, id, "two")
    using reader = await followShared(scene, path)
    await shows(reader, ["one", "answer 1", "two", "answer 2"])
    const { cursor } = await readShared(scene, path)
    const { id: messageID } = reader.messages[2]!
    await scene.json(`/sessions/${id}/revert`, { json: { messageID } })
    await shows(reader, ["one", "answer 1"])
    expect(textsOf((await readShared(scene, path)).messages)).toEqual(["one", "answer 1"])
    using late = await followShared(scene, path, { since: cursor })
    await shows(late, ["one", "answer 1"])
    expect(late.raw).not.toContain("answer 2")
    await scene.json(`/sessions/${id}/unrevert`, { method: "POST" })
    await shows(reader, ["one", "answer 1", "two", "answer 2"])
    await scene.json(`/sessions/${id}/revert`, { json: { messageID } })
    await ask(scene, id, "three")
    await shows(reader, ["one", "answer 1", "three", "answer 3"])
    await shows(late, ["one", "answer 1", "three", "answer 3"])
    expect(JSON.stringify(await readShared(scene, path))).not.toContain("answer 2")
  })

  test("a revert at a part hides the rest of the message", async () => {
    await using scene = await httpScene({
      script: [
        { text: "before", calls: [{ tool: "read", input: { filePath: "a.txt" } }] },
        { text: "after" },
      ],
      files: { "a.txt": "x" },
    })
    const id = await newSession(scene)
    const path = await share(scene, id)
    await ask(scene, id, "one")
    using reader = await followShared(scene, path)
    await shows(reader, ["one", "before", "after"])
    const { items } = await scene.stemma.store.history(id, {})
    const called = items.find(({ parts }) => parts.some(({ type }) => type === "tool"))!
    const partID = called.parts.find(({ type }) => type === "tool")!.id
    await scene.json(`/sessions/${id}/revert`, { json: { messageID: called.message.id, partID } })
    await shows(reader, ["one", "before"])
    expect(reader.messages.flatMap(({ parts }) => parts.map(({ type }) => type))).toEqual(["text", "text"])
  })

  test("a message is redacted", async () => {
    await using scene = await httpScene({ script: (_, at) => ({ text: `answer ${at + 1}` }) })
    const id = await newSession(scene)
    const path = await share(scene, id)
    await ask(scene, id, "regrettable")
    using reader = await followShared(scene, path)
    await shows(reader, ["regrettable", "answer 1"])
    await scene.json(`/sessions/${id}/redact`, { json: { messageID: reader.messages[0]!.id } })
    await shows(reader, ["[redacted]", "answer 1"])
    expect(JSON.stringify(await readShared(scene, path))).not.toContain("regrettable")
    using late = await followShared(scene, path)
    await synced(late)
    expect(late.raw).not.toContain("regrettable")
  })

  test("the message is hidden whose first words are the title: the title is hidden too", async () => {
    await using scene = await httpScene({ script: () => ({ text: "Noted." }), config: { title: false } })
    const { id } = await scene.json<Session>("/sessions", { json: {} })
    const path = await share(scene, id)
    await ask(scene, id, "The door code is 4711")
    using reader = await followShared(scene, path)
    await shows(reader, ["The door code is 4711", "Noted."])
    expect(reader.title).toBe("The door code is 4711")
    await scene.json(`/sessions/${id}/revert`, { json: { messageID: reader.messages[0]!.id } })
    await until("the title is hidden", () => reader.title.startsWith("New session"))
    expect(JSON.stringify(await readShared(scene, path))).not.toContain("4711")
    await ask(scene, id, "Use the other code: 0815")
    await until("there is another title", () => reader.title === "Use the other code: 0815")
    await scene.json(`/sessions/${id}/redact`, { json: { messageID: reader.messages[0]!.id } })
    await until("it is gone", () => reader.title === "[redacted]")
    expect(JSON.stringify(await readShared(scene, path))).not.toMatch(/4711|0815/)
  })

  test("another process ends sharing", async () => {
    await using scene = await httpScene()
    const id = await newSession(scene)
    using reader = await followShared(scene, await share(scene, id))
    await synced(reader)
    const other = await scene.again()
    await other.sessions.unshare(id)
    expect(await reader.ended).toBe(true)
    expect(reader.types.at(-1)).toBe("ended")
  })

  test("the server closes: the stream breaks off, and another server can continue it", async () => {
    await using scene = await httpScene({ script: () => ({ text: "answer" }) })
    const id = await newSession(scene)
    const path = await share(scene, id)
    await ask(scene, id, "one")
    using reader = await followShared(scene, path)
    await shows(reader, ["one", "answer"])
    await scene.server.close()
    expect(await reader.ended).toBe(false)
    expect(reader.types).not.toContain("ended")
  })
})

describe("a stalled reader of a shared session", () => {
  test("has a bounded buffer, delays no other reader, and is disconnected when sharing ends", async () => {
    await using scene = await httpScene({ server: { stallMs: 60_000 } })
    const session = await scene.stemma.sessions.create()
    const path = await share(scene, session.id)
    using stalled = await followShared(scene, path)
    await synced(stalled)
    stalled.response.pause()
    using other = await followShared(scene, path)
    const text = "a lot of text, ".repeat(12_000)
    for (let at = 0; at < 90; at++) await session.append({ role: "user", text: `${at} ${text}` })
    await until("the other has the newest", () => textsOf(other.messages).at(-1)?.startsWith("89 ") === true)
    await scene.json(`/sessions/${session.id}/share`, { method: "DELETE" })
    stalled.response.resume()
    await stalled.ended
    // The socket buffers alone hold a few megabytes.
    expect(stalled.raw.length).toBeLessThan(60 * text.length)
    expect(textsOf(stalled.messages).some((one) => one.startsWith("89 "))).toBe(false)
  })
})
