import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { randomFrom } from "../samples.ts"
import { failsWith, promised } from "../scene.ts"

export const blobCases = [
  promised("a blob is named by its SHA-256 and comes back unchanged", async ({ store }) => {
    const random = randomFrom(1)
    for (const length of [0, 1, 1000, 1_000_000]) {
      const bytes = Uint8Array.from({ length }, () => random() * 256)
      const hash = await store.blobs.put(bytes)
      assert.equal(hash, createHash("sha256").update(bytes).digest("hex"))
      assert.ok(Buffer.from(await store.blobs.get(hash)).equals(bytes))
      assert.equal(await store.blobs.size(hash), length)
      assert.equal(await store.blobs.put(bytes), hash)
    }
  }),

  promised("a range of a blob is [start, end), cut at the end of the blob", async ({ store }) => {
    const hash = await store.blobs.put(Buffer.from("0123456789"))
    const read = async (range: { start?: number; end?: number }) =>
      Buffer.from(await store.blobs.get(hash, range)).toString()
    assert.equal(await read({}), "0123456789")
    assert.equal(await read({ start: 7 }), "789")
    assert.equal(await read({ end: 3 }), "012")
    assert.equal(await read({ start: 2, end: 5 }), "234")
    assert.equal(await read({ start: 8, end: 100 }), "89")
    assert.equal(await read({ start: 10 }), "")
    assert.equal(await read({ start: 5, end: 5 }), "")
  }),

  promised("changing bytes that were put or read does not change the blob", async ({ store }) => {
    const bytes = Buffer.from("kept")
    const putting = store.blobs.put(bytes)
    const hash = await putting
    bytes.fill(0)
    ;(await store.blobs.get(hash)).fill(1)
    assert.equal(Buffer.from(await store.blobs.get(hash)).toString(), "kept")
  }),

  promised("reading a blob that was never put fails with not_found", async ({ store }) => {
    for (const hash of ["0".repeat(64), "nonsense", "../../etc/passwd", ""]) {
      await failsWith("not_found", store.blobs.get(hash))
      await failsWith("not_found", store.blobs.size(hash))
    }
  }),

  promised("the same blob can be put many times at once", async ({ store }) => {
    const bytes = Buffer.from("same")
    const hashes = await Promise.all(Array.from({ length: 10 }, () => store.blobs.put(bytes)))
    assert.equal(new Set(hashes).size, 1)
    assert.equal(await store.blobs.size(hashes[0]!), 4)
  }),

  promised(
    "a blob is there after reopening",
    async (scene) => {
      const hash = await scene.store.blobs.put(Buffer.from("kept"))
      await scene.reopen()
      assert.equal(Buffer.from(await scene.store.blobs.get(hash)).toString(), "kept")
    },
    { needs: ["reopen"] },
  ),
]
