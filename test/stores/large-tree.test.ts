import { expect, it } from "vitest"
import type { OpOf } from "../../src/stores/commit.ts"
import { drivers } from "../support/drivers.ts"
import { sampleIds } from "../support/ids.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const count = 10_000
const chain = 500

it.each(drivers.filter((driver) => driver.name !== "jsonl"))(
  "$name reads a tree of ten thousand sessions beside ten thousand other sessions",
  async (driver) => {
    await using directory = await temporaryDirectory()
    await using store = await driver.open(directory.path)
    const next = sampleIds()
    const time = { created: 1, updated: 1 }
    const create = (parentID?: string): OpOf<"session.create"> => {
      const fields = { projectID: "p", directory: "/project", title: "", version: "1", time, parentID }
      return {
        op: "session.create",
        session: { id: next.next("session"), ...fields },
        segment: next.next("segment"),
      }
    }
    const tree: string[] = []
    for (let from = 0; from < count; from += 1000) {
      const ops: OpOf<"session.create">[] = []
      for (let i = from; i < from + 1000; i++) {
        // The first few hundred sessions form a chain of parents; all others are children of these.
        const op = create(i === 0 ? undefined : tree[i <= chain ? i - 1 : i % chain])
        tree.push(op.session.id)
        ops.push(op, create())
      }
      await store.commit({ ops })
    }
    const read = await store.tree(tree[0]!)
    expect(read.map((session) => session.id)).toEqual(tree)
    const parents = await store.parents(tree[chain]!)
    expect(parents.map((session) => session.id)).toEqual(tree.slice(0, chain).toReversed())
  },
)
