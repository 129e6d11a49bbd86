import { describe, expect, it } from "vitest"
import { fileError } from "../../src/stores/jsonl/disk/files.ts"
import { openJsonlStore, openJsonlStoreOn } from "../../src/stores/jsonl/index.ts"
import { canonicalJson } from "../../src/stores/prepare.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"
import { FaultyFiles } from "./jsonl-faults.ts"
import { prepare, scenarios, view } from "./jsonl-journal-scenarios.ts"
import { claimed, createOp, JsonlScene, sayOp, sessionID, texts } from "./jsonl-scene.ts"

function diskFull(): Error {
  return fileError(Object.assign(new Error("no space left on device"), { code: "ENOSPC" }), "a file")
}

describe.each(scenarios)("a disk that becomes full while $name", (scenario) => {
  it.each(["normal", "full"] as const)(
    "changes nothing, causes an error that asks for space, and the same change works later (%s)",
    async (durability) => {
      let refusals = 0
      for (let call = 1; ; call++) {
        await using directory = await temporaryDirectory()
        const { before, after } = await prepare(directory.path, scenario)
        const files = new FaultyFiles(directory.path)
        await using store = await openJsonlStoreOn(files, { durability })
        const fence = await scenario.claim(store)
        let calls = 0
        files.fault = ({ method }) =>
          ++calls >= call && ["append", "sync"].includes(method) ? diskFull() : "pass"
        let refused: unknown
        await scenario.change(store, fence).catch((error: unknown) => {
          refused = error
        })
        files.fault = () => "pass"
        const found = canonicalJson(await view(store))
        if (refused === undefined) expect(found).toBe(canonicalJson(after))
        else {
          expect(refused).toMatchObject({
            code: "unavailable",
            message: expect.stringContaining("Free some space"),
          })
          expect(found).toBe(canonicalJson(before))
          await scenario.change(store, fence)
          expect(canonicalJson(await view(store))).toBe(canonicalJson(after))
          refusals++
        }
        await scenario.again(store)
        await store.close()
        await using again = await openJsonlStore({ directory: directory.path })
        expect((await again.check()).problems).toEqual([])
        expect((await again.session("ses_other")).title).toBe("Afterwards")
        if (calls < call) break
      }
      expect(refusals).toBeGreaterThan(0)
    },
  )
})

describe("a file that cannot be deleted", () => {
  it("causes a warning, and its session is removed all the same", async () => {
    await using scene = await JsonlScene.begin()
    const files = new FaultyFiles(scene.directory.path)
    const warnings: string[] = []
    await using store = await openJsonlStoreOn(files, { onWarning: (warning) => void warnings.push(warning) })
    await store.commit({ ops: [createOp()] })
    files.fault = ({ method, name }) =>
      method === "remove" && name.endsWith("ses_one.jsonl") ? fileError({ code: "EACCES" }, name) : "pass"
    await store.remove(sessionID)
    expect(warnings).toEqual([expect.stringContaining("not in the files yet")])
    await expect(store.session(sessionID)).rejects.toMatchObject({ code: "not_found" })
    files.fault = () => "pass"
    await store.commit({ ops: [createOp("ses_two")] })
    await store.close()
    const again = await scene.open()
    expect((await again.sessions()).items.map(({ id }) => id)).toEqual(["ses_two"])
    expect((await again.check()).problems).toEqual([])
  })
})

describe("a batch that one process could not finish", () => {
  it("is read correctly by other processes, and finished by the next process that writes", async () => {
    await using scene = await JsonlScene.begin()
    const other = await scene.open()
    const files = new FaultyFiles(scene.directory.path)
    await using store = await openJsonlStoreOn(files, {})
    await store.commit({ ops: [createOp(), sayOp("first", "a secret"), sayOp("second")] })
    files.fault = ({ method, name }) =>
      method === "rename" && name.endsWith(".state.jsonl") ? fileError({ code: "EIO" }, name) : "pass"
    await store.redact({ sessionID, messageID: "msg_first" })
    for (const one of [store, other]) {
      expect(await texts(one)).toEqual(["[redacted]", "second"])
      expect((await one.session(sessionID)).history.epoch).toBe(1)
    }
    const commit = await claimed(other)
    await commit(sayOp("third"))
    expect(await texts(store)).toEqual(["[redacted]", "second", "third"])
    await other.close()
    const again = await scene.open()
    expect(await texts(again)).toEqual(["[redacted]", "second", "third"])
    expect((await again.session(sessionID)).history.epoch).toBe(1)
    expect((await again.check()).problems).toEqual([])
    expect(scene.text(scene.path("journal.jsonl"))).not.toContain("a secret")
  })
})

describe("another program that writes at the same time", () => {
  it("damages neither its own line nor the line of the store", async () => {
    await using scene = await JsonlScene.begin()
    const files = new FaultyFiles(scene.directory.path)
    const store = await openJsonlStoreOn(files, {})
    await using _closing = store
    await store.commit({ ops: [createOp(), sayOp("first")] })
    const commit = await claimed(store)
    const reader = await scene.open()
    expect(await texts(reader)).toEqual(["first"])
    files.fault = ({ name }) => {
      if (!name.endsWith("ses_one.jsonl")) return "pass"
      files.fault = () => "pass"
      const message = { role: "user", content: "in between", timestamp: 1 }
      const place = { id: "e1", parentId: "title-1", timestamp: "2026-01-01T00:00:00.000Z" }
      scene.append(scene.main(), [{ type: "message", ...place, message }])
      return "pass"
    }
    await commit(sayOp("second"))
    await commit(sayOp("third"))
    expect(await texts(store)).toEqual(["first", "second", "third"])
    expect(await texts(reader)).toEqual(["first", "second", "third"])
    expect(scene.text(scene.main())).toContain("in between")
    await store.close()
    const again = await scene.open()
    expect(await texts(again)).toEqual(["first", "second", "third"])
    expect((await again.check()).problems).toEqual([])
  })
})

describe("streamed pieces", () => {
  it("are removed from the state file after the message is sealed", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    await store.commit({ ops: [createOp()] })
    const commit = await claimed(store)
    const opened = { ...sayOp("long", ""), sealed: false } as ReturnType<typeof sayOp>
    await commit(opened)
    const text = "0123456789".repeat(1000)
    for (let count = 0; count < 20; count++) {
      const place = { sessionID, messageID: "msg_long", partID: "prt_long", field: "text" as const }
      await commit({ op: "piece.add", ...place, offset: count * text.length, text })
    }
    const state = scene.main().replace(".jsonl", ".state.jsonl")
    expect(scene.text(state).length).toBeGreaterThan(200_000)
    await commit({ op: "message.seal", sessionID, messageID: "msg_long" })
    await expect.poll(() => scene.text(state).length).toBeLessThan(5000)
    expect(await texts(store)).toEqual([text.repeat(20)])
    await commit(sayOp("next"))
    await store.close()
    expect(await texts(await scene.open())).toEqual([text.repeat(20), "next"])
  })
})

describe("many sessions", () => {
  it("are not all kept in memory, and evicted sessions are read correctly again", async () => {
    await using scene = await JsonlScene.begin()
    const store = await scene.open()
    const ids = Array.from({ length: 150 }, (_, number) => `ses_${number}`)
    for (const id of ids) await store.commit({ ops: [createOp(id), sayOp("first", `in ${id}`, id)] })
    await new Promise((resolve) => setTimeout(resolve, 2100))
    for (const id of ids) expect(await texts(store, id)).toEqual([`in ${id}`])
    const { hits } = await store.search({ text: "in", limit: 200 })
    expect(hits).toHaveLength(150)
    const changes = await store.changes({ directory: "/project" }, undefined, { limit: 10_000 })
    expect(changes.rows.filter((row) => row.type === "message")).toHaveLength(150)
    await store.close()
    const again = await scene.open()
    expect((await again.sessions({ limit: 1000 })).items).toHaveLength(150)
    expect((await again.check()).problems).toEqual([])
  })
})
