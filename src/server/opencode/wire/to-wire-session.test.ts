import { expect, test } from "vitest"
import { session } from "../../../session/samples.ts"
import { toWireDiff, toWireRemoved, toWireSession } from "./to-wire-session.ts"
import { WireSession } from "./wire-session.ts"

test("a session is sent without Stemma's own fields, and without the secret of its share", () => {
  const wire = toWireSession(
    session(
      {},
      {
        key: "telegram:1",
        parentID: "ses_parent",
        model: { providerID: "demo", modelID: "demo-1" },
        share: { url: "https://example.org/share/x", secret: "s".repeat(30), include: { tools: true } },
        summary: {
          additions: 1,
          deletions: 2,
          files: 3,
          diffs: [{ file: "a", before: "b", after: "c", additions: 1, deletions: 2 }],
        },
        revert: { messageID: "msg_1", diff: "d" },
      },
    ),
  )
  expect(WireSession.parse(wire)).toEqual(wire)
  expect(wire).toMatchObject({
    slug: "one",
    model: { id: "demo-1", providerID: "demo" },
    share: { url: "https://example.org/share/x" },
    summary: { additions: 1, deletions: 2, files: 3 },
  })
  expect(Object.keys(wire)).not.toContain("history")
  expect(JSON.stringify(wire)).not.toContain("sss")
})

test("a removed session has the shape of a session", () => {
  const wire = toWireRemoved({ id: "ses_One-Two", directory: "/d" }, { projectID: "prj_1" })
  expect(WireSession.parse(wire)).toEqual(wire)
  expect(wire).toMatchObject({ id: "ses_One-Two", slug: "one-two", projectID: "prj_1" })
})

test("a diff has the status of the file, and for large files only counts", () => {
  const counts = { file: "a.txt", additions: 1, deletions: 0 }
  expect(toWireDiff({ ...counts, before: "", after: "x\n" })).toMatchObject({ status: "added" })
  expect(toWireDiff({ ...counts, before: "x\n", after: "" })).toMatchObject({ status: "deleted" })
  expect(toWireDiff({ ...counts, before: "", after: "" })).toMatchObject({ status: "modified", patch: "" })
  const large = toWireDiff({ ...counts, before: "x\n".repeat(400_000), after: "" })
  expect(large).toEqual({ ...counts, status: "deleted" })
})
