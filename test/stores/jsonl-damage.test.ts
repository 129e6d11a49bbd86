import { randomBytes } from "node:crypto"
import {
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { describe, expect, it } from "vitest"
import { claimed, createOp, JsonlScene, sayOp, sessionID, texts } from "./jsonl-scene.ts"

async function closedScene(): Promise<JsonlScene> {
  const scene = await JsonlScene.begin()
  const store = await scene.open()
  await store.commit({ ops: [createOp(), sayOp("first"), sayOp("second")] })
  await store.commit({ ops: [createOp("ses_two", { title: "Two" }), sayOp("other", "other", "ses_two")] })
  await store.close()
  return scene
}

const index = "agents/main/sessions/sessions.json"

describe("an incomplete last line", () => {
  const half = '{"type":"message","id":"msg_cut","mess'
  const otherHalf = 'age":{"role":"user","content":"slow"}}\n'
  const reported = expect.stringMatching(/ses_one\.jsonl ends in the middle of a line: 38 bytes/)

  it("is reported and not changed, and is read once it is complete", async () => {
    await using scene = await closedScene()
    scene.append(scene.main(), half)
    const before = scene.text(scene.main())
    const store = await scene.open()
    expect(await texts(store)).toEqual(["first", "second"])
    expect(scene.warnings).toEqual([reported])
    expect((await store.check()).problems).toEqual([reported])
    expect(scene.text(scene.main())).toBe(before)
    scene.append(scene.main(), otherHalf)
    expect(await texts(store)).toEqual(["first", "second", "slow"])
    expect((await store.check()).problems).toEqual([])
    await store.close()
    expect(await texts(await scene.open())).toEqual(["first", "second", "slow"])
  })

  it("blocks appends to its file, and nothing else", async () => {
    await using scene = await closedScene()
    const store = await scene.open()
    const commit = await claimed(store)
    scene.append(scene.main(), half)
    const refused = {
      code: "unavailable",
      message: expect.stringContaining("Another program has not finished its line"),
    }
    await expect(commit(sayOp("third"))).rejects.toMatchObject(refused)
    await expect(store.redact({ sessionID, messageID: "msg_first" })).rejects.toMatchObject(refused)
    await commit({ op: "todos.put", sessionID, todos: [] })
    scene.append(scene.main(), otherHalf)
    await commit(sayOp("third"))
    expect(await texts(store)).toEqual(["first", "second", "slow", "third"])
    await store.close()
    const again = await scene.open()
    expect(await texts(again)).toEqual(["first", "second", "slow", "third"])
    expect((await again.check()).problems).toEqual([])
  })

  it("is moved to another file before the next append, if it has not grown for a long time", async () => {
    await using scene = await closedScene()
    scene.append(scene.main(), half)
    const longAgo = Date.now() / 1000 - 60
    utimesSync(scene.main(), longAgo, longAgo)
    const store = await scene.open()
    expect(await texts(store)).toEqual(["first", "second"])
    expect(scene.text(scene.main()).endsWith(half)).toBe(true)
    const commit = await claimed(store)
    await commit(sayOp("third"))
    expect(scene.warnings.at(-1)).toMatch(/38 bytes were moved to .*ses_one\.jsonl\.torn/)
    expect(scene.text(`${scene.main()}.torn`)).toBe(`${half}\n`)
    await store.close()
    const again = await scene.open()
    expect(await texts(again)).toEqual(["first", "second", "third"])
    expect((await again.check()).problems).toEqual([])
  })

  it("that lacks only its line feed is read, and gets its line feed before the next append", async () => {
    await using scene = await closedScene()
    const store = await scene.open()
    const commit = await claimed(store)
    scene.append(scene.main(), half + otherHalf.trimEnd())
    await commit(sayOp("third"))
    expect(await texts(store)).toEqual(["first", "second", "slow", "third"])
    await store.close()
    expect(await texts(await scene.open())).toEqual(["first", "second", "slow", "third"])
  })

  it("is removed from the state file", async () => {
    await using scene = await closedScene()
    const state = scene.main().replace(".jsonl", ".state.jsonl")
    const before = scene.text(state)
    scene.append(state, '{"type":"commit","v":9')
    const store = await scene.open()
    expect(await texts(store)).toEqual(["first", "second"])
    expect(scene.warnings).toEqual([expect.stringMatching(/ses_one\.state\.jsonl ended in the middle/)])
    expect(scene.text(state)).toBe(before)
  })

  it("is reported by check and not changed in a read-only store", async () => {
    await using scene = await closedScene()
    scene.append(scene.main(), half)
    const store = await scene.open({ readOnly: true })
    expect(await texts(store)).toEqual(["first", "second"])
    expect((await store.check()).problems).toEqual([
      expect.stringMatching(/ses_one\.jsonl ends in the middle/),
    ])
    expect(scene.text(scene.main()).endsWith(half)).toBe(true)
  })
})

describe("a file that is not a session", () => {
  const notes = "my own notes, no JSON, no line feed"

  it("is neither listed nor changed, whatever its name", async () => {
    await using scene = await closedScene()
    scene.write(scene.main("notes"), notes)
    scene.write(scene.main("data"), '{"some":"data"}\n{"other":1}')
    scene.write(scene.path("victim"), notes)
    symlinkSync(scene.path("victim"), scene.main("ses-link"))
    const store = await scene.open()
    expect((await store.sessions()).items).toHaveLength(2)
    expect((await store.check()).problems).toEqual([])
    expect(scene.warnings).toEqual([])
    expect(scene.text(scene.main("notes"))).toBe(notes)
    expect(scene.text(scene.main("data"))).toBe('{"some":"data"}\n{"other":1}')
    expect(scene.text(scene.path("victim"))).toBe(notes)
    expect(
      readdirSync(scene.path("agents/main/sessions")).filter((name) => /^(notes|data)/.test(name)),
    ).toEqual(["data.jsonl", "notes.jsonl"])
  })

  it("is not written through a symlink that replaced a session's file", async () => {
    await using scene = await closedScene()
    const store = await scene.open()
    const commit = await claimed(store)
    renameSync(scene.main(), scene.path("victim"))
    symlinkSync(scene.path("victim"), scene.main())
    const before = scene.text(scene.path("victim"))
    await expect(commit(sayOp("third"))).rejects.toMatchObject({ code: "denied" })
    expect(scene.text(scene.path("victim"))).toBe(before)
  })
})

describe("a malformed line inside a file", () => {
  it("causes an error with file and line, and only in its session", async () => {
    await using scene = await closedScene()
    const lines = scene.text(scene.main()).split("\n")
    writeFileSync(scene.main(), lines.with(2, "{broken").join("\n"))
    const store = await scene.open()
    const refused = {
      code: "internal",
      message: expect.stringMatching(/^Line 3 of agents\/main\/sessions\/ses_one\.jsonl /),
    }
    await expect(store.history(sessionID)).rejects.toMatchObject(refused)
    await expect(store.claim(sessionID)).rejects.toMatchObject(refused)
    await expect(store.commit({ ops: [{ op: "todos.put", sessionID, todos: [] }] })).rejects.toMatchObject(
      refused,
    )
    expect((await store.sessions({ order: "created" })).items.map(({ title }) => title)).toEqual([
      "Two",
      "A title",
    ])
    expect(await texts(store, "ses_two")).toEqual(["other"])
    expect((await store.search({ text: "other" })).hits).toHaveLength(1)
    expect((await store.check()).problems).toEqual([expect.stringContaining("Line 3 of")])
    await store.close()

    const again = await scene.open()
    await expect(again.history(sessionID)).rejects.toMatchObject(refused)
    writeFileSync(scene.main(), lines.join("\n"))
    await again.close()
    expect(await texts(await scene.open())).toEqual(["first", "second"])
  })

  it("does not prevent listing the session without an index, or removing it", async () => {
    await using scene = await closedScene()
    rmSync(scene.path(index))
    writeFileSync(scene.main(), scene.text(scene.main()).replace('"msg_first"', "msg_first"))
    const store = await scene.open()
    expect((await store.sessions()).items.map(({ title }) => title).sort()).toEqual(["A title", "Two"])
    await store.remove(sessionID)
    expect(existsSync(scene.main())).toBe(false)
    expect((await store.sessions()).items).toHaveLength(1)
  })

  it("that is binary data is reported", async () => {
    await using scene = await closedScene()
    const bytes = Buffer.concat([randomBytes(500), Buffer.from([0, 0xff, 0x0a]), randomBytes(100)])
    scene.write(scene.main("ses_noise"), "")
    writeFileSync(scene.main("ses_noise"), bytes)
    const store = await scene.open()
    await expect(store.session("ses_noise")).rejects.toMatchObject({ code: "internal" })
    expect((await store.sessions()).items).toHaveLength(2)
    expect((await store.check()).problems).toHaveLength(1)
  })

  it("that is JSON but not a message is reported, and a missing message is reported", async () => {
    await using scene = await closedScene()
    const text = scene.text(scene.main())
    const lines = text.split("\n")
    writeFileSync(scene.main(), text.replace('"role":"user"', '"role":"nobody"'))
    await expect((await scene.open()).history(sessionID)).rejects.toMatchObject({
      code: "internal",
      message: expect.stringMatching(/^Line 2 of .* is not a message that can be read/),
    })
    writeFileSync(scene.main(), lines.toSpliced(1, 1).join("\n"))
    await expect((await scene.open()).history(sessionID)).rejects.toMatchObject({
      code: "internal",
      message: expect.stringMatching(/follows a message that is missing/),
    })
  })

  it("that another program appends to an open store is reported until it is removed", async () => {
    await using scene = await closedScene()
    const store = await scene.open()
    const before = scene.text(scene.main())
    expect(await texts(store)).toEqual(["first", "second"])
    scene.append(scene.main(), "[]\n")
    const refused = { code: "internal", message: expect.stringMatching(/^Line 5 of .*ses_one\.jsonl /) }
    for (let time = 0; time < 3; time++) {
      await expect(store.history(sessionID)).rejects.toMatchObject(refused)
      expect((await store.check()).problems).toEqual([refused.message])
    }
    await expect(store.claim(sessionID)).rejects.toMatchObject(refused)
    writeFileSync(scene.main(), before)
    expect(await texts(store)).toEqual(["first", "second"])
    expect((await store.check()).problems).toEqual([])
  })
})

describe("a missing main file", () => {
  const gone = expect.stringMatching(/ses_one\.jsonl is gone/)

  it("is reported by an open store, by check, and by the next open", async () => {
    await using scene = await closedScene()
    const store = await scene.open()
    expect(await texts(store)).toEqual(["first", "second"])
    renameSync(scene.main(), scene.path("aside"))
    await expect(store.history(sessionID)).rejects.toMatchObject({ code: "internal", message: gone })
    expect((await store.check()).problems).toEqual([gone])
    expect((await store.check()).problems).toEqual([gone])
    expect(scene.warnings).toEqual([gone])
    await store.close()
    const again = await scene.open()
    expect(scene.warnings).toEqual([gone, gone])
    expect((await again.check()).problems).toEqual([gone])
    await again.close()
    renameSync(scene.path("aside"), scene.main())
    const last = await scene.open()
    expect(await texts(last)).toEqual(["first", "second"])
    expect((await last.check()).problems).toEqual([])
  })

  it("does not prevent removing the session, nor does a malformed line", async () => {
    await using scene = await closedScene()
    const store = await scene.open()
    rmSync(scene.main())
    scene.append(scene.main("ses_two"), "[]\n")
    await store.remove(sessionID)
    await store.remove("ses_two")
    expect((await store.sessions()).items).toEqual([])
    expect(existsSync(scene.main("ses_two"))).toBe(false)
    expect((await store.check()).problems).toEqual([])
  })

  it("is reported even if only the index lists the session", async () => {
    await using scene = await closedScene()
    rmSync(scene.main())
    rmSync(scene.main().replace(".jsonl", ".state.jsonl"))
    const store = await scene.open()
    expect(scene.warnings).toEqual([gone])
    expect((await store.check()).problems).toEqual([gone])
  })

  it("is not reported if the session was removed", async () => {
    await using scene = await closedScene()
    const store = await scene.open()
    await store.remove(sessionID)
    expect((await store.check()).problems).toEqual([])
    await store.close()
    const again = await scene.open()
    expect((await again.check()).problems).toEqual([])
    expect(scene.warnings).toEqual([])
  })
})

describe("the index", () => {
  it("contains the fields that other programs read of each session", async () => {
    await using scene = await closedScene()
    const { sessions } = JSON.parse(scene.text(scene.path(index))) as { sessions: Record<string, object> }
    expect(sessions[sessionID]).toMatchObject({
      id: sessionID,
      agentId: "main",
      filePath: "ses_one.jsonl",
      title: "A title",
      messageCount: 2,
      createdAt: 1_700_000_000_000,
      lastAt: 1_700_000_000_000,
      tokenEstimate: 2,
    })
    expect(Object.keys(sessions)).toEqual([sessionID, "ses_two"])
  })

  const damages: [what: string, damage: (scene: JsonlScene) => void][] = [
    ["is missing", (scene) => rmSync(scene.path(index))],
    ["is not JSON", (scene) => writeFileSync(scene.path(index), '{"sessions":{"ses_one":{')],
    ["has another shape", (scene) => writeFileSync(scene.path(index), '{"sessions":[1,2]}')],
    [
      "was edited by hand",
      (scene) =>
        writeFileSync(scene.path(index), scene.text(scene.path(index)).replaceAll("A title", "Forged")),
    ],
    [
      "lists sessions that do not exist",
      (scene) =>
        writeFileSync(scene.path(index), scene.text(scene.path(index)).replaceAll("ses_two", "ses_three")),
    ],
    [
      "is older than the files",
      (scene) => {
        const old = scene.text(scene.path(index))
        utimesSync(scene.main(), 1, 1)
        writeFileSync(scene.path(index), old)
      },
    ],
    [
      "is missing together with the journal",
      (scene) => {
        rmSync(scene.path("journal.jsonl"))
        rmSync(scene.path(index))
      },
    ],
  ]
  it.each(damages)("is rebuilt from the files if it %s", async (_what, damage) => {
    await using scene = await closedScene()
    const reading = await scene.open()
    const before = (await reading.sessions()).items
    const cursor = await reading.cursor()
    await reading.close()
    damage(scene)
    const store = await scene.open()
    expect((await store.sessions()).items).toEqual(before)
    expect(await texts(store)).toEqual(["first", "second"])
    const committed = await store.commit({ ops: [{ op: "todos.put", sessionID, todos: [] }] })
    expect(committed.version).toBe(3)
    expect((await store.changes({ sessionID }, cursor)).rows.map((row) => row.type)).toEqual(["todos"])
    await store.close()
    const { sessions } = JSON.parse(scene.text(scene.path(index))) as { sessions: Record<string, object> }
    expect(Object.keys(sessions).sort()).toEqual([sessionID, "ses_two"])
  })

  it("makes it unnecessary to read the sessions when the store is opened", async () => {
    await using scene = await closedScene()
    // A read of this file would fail. Its time and size are those in the index, so the store must not read it.
    const { mtime } = statSync(scene.main())
    writeFileSync(scene.main(), scene.text(scene.main()).replaceAll("{", "!"))
    utimesSync(scene.main(), mtime, mtime)
    const store = await scene.open()
    expect(scene.warnings).toEqual([])
    expect((await store.sessions()).items).toHaveLength(2)
    await expect(store.history(sessionID)).rejects.toMatchObject({ code: "internal" })
  })

  it("contains new commits within a few seconds while the store is open", async () => {
    await using scene = await closedScene()
    const store = await scene.open()
    await store.commit({ ops: [{ op: "session.patch", sessionID, set: { title: "Fresh" } }] })
    await expect.poll(() => scene.text(scene.path(index)), { timeout: 10_000 }).toContain('"title":"Fresh"')
  })
})

describe("a store", () => {
  it("of a newer version is refused and not changed", async () => {
    await using scene = await closedScene()
    writeFileSync(scene.path("store.json"), '{"format":99,"id":"abc"}\n')
    await expect(scene.open()).rejects.toMatchObject({ code: "unsupported" })
    await expect(scene.open({ readOnly: true })).rejects.toMatchObject({ code: "unsupported" })
    expect(scene.text(scene.path("store.json"))).toBe('{"format":99,"id":"abc"}\n')
  })

  it("whose store.json is damaged fails with an error that names the file", async () => {
    await using scene = await closedScene()
    writeFileSync(scene.path("store.json"), "?")
    await expect(scene.open()).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining("store.json"),
    })
  })

  it("that is opened read-only changes nothing and refuses to write", async () => {
    await using scene = await closedScene()
    scene.write(
      scene.main("ses-hand", "main"),
      '{"type":"message","message":{"role":"user","content":"by hand"}}\n',
    )
    const names = () => readdirSync(scene.directory.path, { recursive: true }).sort()
    const before = names()
    const store = await scene.open({ readOnly: true })
    expect(await texts(store)).toEqual(["first", "second"])
    expect(await texts(store, "ses-hand")).toEqual(["by hand"])
    const denied = { code: "denied" }
    await expect(store.commit({ ops: [createOp("ses_new")] })).rejects.toMatchObject(denied)
    await expect(store.claim(sessionID)).rejects.toMatchObject(denied)
    await expect(store.remove(sessionID)).rejects.toMatchObject(denied)
    await expect(store.blobs.put(new Uint8Array(1))).rejects.toMatchObject(denied)
    expect(names()).toEqual(before)

    const writer = await scene.open()
    const commit = await claimed(writer)
    await commit(sayOp("third"))
    expect(await texts(store)).toEqual(["first", "second", "third"])
    scene.append(scene.main(), '{"type":"message","message":{"role":"user","content":"more"}}\n')
    expect(await texts(store)).toEqual(["first", "second", "third", "more"])
  })

  it("that does not exist cannot be opened read-only", async () => {
    await using scene = await JsonlScene.begin()
    await expect(scene.open({ directory: scene.path("nowhere"), readOnly: true })).rejects.toMatchObject({
      code: "not_found",
    })
  })

  it("does not list a session whose file was moved away, and lists it again when the file is back", async () => {
    await using scene = await closedScene()
    renameSync(scene.main(), scene.path("aside"))
    const store = await scene.open()
    expect((await store.sessions()).items.map(({ id }) => id)).toEqual(["ses_two"])
    await store.close()
    renameSync(scene.path("aside"), scene.main())
    expect(await texts(await scene.open())).toEqual(["first", "second"])
  })
})

it("a line that is nested too deeply is named with its file and number", async () => {
  await using scene = await closedScene()
  const deep = "[".repeat(30_000) + "]".repeat(30_000)
  scene.append(scene.main(), `{"type":"custom","id":"deep","data":${deep}}\n`)
  const store = await scene.open()
  const message = expect.stringMatching(
    /Line \d+ of .*ses_one\.jsonl is nested deeper than 400 levels\. Repair or remove/,
  )
  await expect(texts(store)).rejects.toMatchObject({ code: "internal", message })
  expect((await store.check()).problems).toEqual([message])
  expect(await texts(store, "ses_two")).toEqual(["other"])
})
