import assert from "node:assert/strict"
import { failsWith, promised, type Run } from "../scene.ts"

async function notes(run: Run, left?: string): Promise<(Record<string, unknown> | undefined)[]> {
  return (await run.items(left)).map((item) => item.notes)
}

export const noteCases = [
  promised(
    "the newest note of a key wins, null removes it, and a message without notes has no notes field",
    async (scene) => {
      const run = await scene.session()
      const id = await run.say("a")
      const items = await run.items()
      assert.ok(!("notes" in items[0]!))
      await run.note(id, "summary", { title: "first" })
      await run.note(id, "summary", { title: "second" })
      await run.note(id, "diffs", [1, 2])
      assert.deepEqual(await notes(run), [{ summary: { title: "second" }, diffs: [1, 2] }])
      await run.note(id, "summary", null)
      assert.deepEqual(await notes(run), [{ diffs: [1, 2] }])
      await run.note(id, "diffs", null)
      assert.deepEqual(await run.items(), items)
      await run.note(id, "summary", 0)
      assert.deepEqual(await notes(run), [{ summary: 0 }])
    },
  ),

  promised("a note needs a sealed message, but no lease", async (scene) => {
    const { store, make } = scene
    const run = await scene.session()
    const id = await run.say("a")
    const open = await run.begin()
    const note = (messageID: string, key: string) =>
      store.commit({ ops: [{ op: "note.put", sessionID: run.id, messageID, key, value: 1 }] })
    await note(id, "seen")
    await failsWith("invalid", note(open, "seen"))
    await failsWith("not_found", note(make.id("message"), "seen"))
    for (const key of ["", "Upper", "1st", "a".repeat(33)]) await failsWith("invalid", note(id, key))
    assert.deepEqual(await notes(run), [{ seen: 1 }, undefined])
  }),

  promised("a fork that keeps fewer messages does not see notes that were written later", async (scene) => {
    const run = await scene.session()
    const [a, b] = (await run.sayAll("a", "b")) as [string, string]
    await run.note(a, "summary", "at two")
    const c = await run.say("c")
    await run.note(a, "summary", "at three")
    await run.note(b, "summary", "of b")
    const d = await run.say("d")
    const whole = await scene.fork(run.id)
    assert.deepEqual((await notes(whole)).slice(0, 2), [{ summary: "at three" }, { summary: "of b" }])
    const three = await scene.fork(run.id, { messageID: d })
    assert.deepEqual(await notes(three), [{ summary: "at three" }, { summary: "of b" }, undefined])
    const two = await scene.fork(run.id, { messageID: c })
    assert.deepEqual(await notes(two), [{ summary: "at two" }, undefined])
    const one = await scene.fork(run.id, { messageID: b })
    assert.deepEqual(await notes(one), [undefined])
  }),

  promised(
    "a fork of a fork does not see notes that the first source wrote after the first fork",
    async (scene) => {
      const source = await scene.session()
      const id = await source.say("a")
      const fork = await scene.fork(source.id)
      await source.note(id, "summary", "of the source")
      const second = await scene.fork(fork.id)
      assert.deepEqual(await notes(fork), [undefined])
      assert.deepEqual(await notes(second), [undefined])
      assert.deepEqual(await notes(source), [{ summary: "of the source" }])
    },
  ),

  promised("notes of a fork and later notes of its source do not mix", async (scene) => {
    const source = await scene.session()
    const id = await source.say("a")
    await source.note(id, "summary", "shared")
    const fork = await scene.fork(source.id)
    await source.note(id, "summary", "of the source")
    await fork.note(id, "summary", "of the fork")
    await fork.note(id, "seen", true)
    assert.deepEqual(await notes(source), [{ summary: "of the source" }])
    assert.deepEqual(await notes(fork), [{ summary: "of the fork", seen: true }])
    const second = await scene.fork(fork.id)
    assert.deepEqual(await notes(second), [{ summary: "of the fork", seen: true }])
    await second.note(id, "seen", null)
    assert.deepEqual(await notes(second), [{ summary: "of the fork" }])
    assert.deepEqual(await notes(fork), [{ summary: "of the fork", seen: true }])
  }),

  promised(
    "moving a history back restores its older notes, and the left tail keeps the newer notes",
    async (scene) => {
      const run = await scene.session()
      const [a, b] = (await run.sayAll("a", "b")) as [string, string]
      await run.note(a, "summary", "at two")
      const c = await run.say("c")
      await run.note(a, "summary", "at three")
      await run.note(b, "summary", "of b")
      const left = (await run.info()).history.segment
      await run.moveBefore(c)
      assert.deepEqual(await notes(run), [{ summary: "at two" }, undefined])
      await run.say("d")
      await run.note(b, "summary", "new")
      assert.deepEqual(await notes(run), [{ summary: "at two" }, { summary: "new" }, undefined])
      assert.deepEqual(await notes(run, left), [{ summary: "at three" }, { summary: "of b" }, undefined])
      const fork = await scene.fork(run.id, { left })
      assert.deepEqual(await notes(fork), [{ summary: "at three" }, { summary: "of b" }, undefined])
    },
  ),
]
