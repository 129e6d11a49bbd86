import { expect, test } from "vitest"
import type { ToolState } from "../../protocol/index.ts"
import { completed, part, pending, text, tool } from "../samples.ts"
import { blobRefs } from "./blob-refs.ts"

const one = "1".repeat(64)
const two = "2".repeat(64)

test("a part refers to its attachments and its whole output, each once", () => {
  const attachment = (url: string) => ({ type: "file" as const, mime: "text/plain", url })
  const state = {
    ...completed("cut"),
    outputBlob: `blob:${one}`,
    attachments: [attachment(`blob:${two}`), attachment(`blob:${one}`), attachment("https://example.com/a")],
  } as ToolState
  expect(blobRefs(tool("prt_a", state))).toEqual([one, two])
  expect(blobRefs(part("file", "prt_a", { mime: "text/plain", url: `blob:${one}` }))).toEqual([one])
})

test("a whole output may be referred to by its bare hash, and by the text part of a prompt's command", () => {
  expect(blobRefs(tool("prt_a", { ...completed("cut"), outputBlob: one } as ToolState))).toEqual([one])
  const said = { ...text("prt_a", "cut"), metadata: { outputBlob: `blob:${two}` } }
  expect(blobRefs(said)).toEqual([two])
})

test("other parts and other URLs refer to no blob", () => {
  for (const url of [
    "file:///a",
    "data:,a",
    `blob:${one}0`,
    `blob:${one.slice(1)}`,
    `blob:${"G".repeat(64)}`,
  ]) {
    expect(blobRefs(part("file", "prt_a", { mime: "text/plain", url }))).toEqual([])
  }
  expect(blobRefs(text("prt_a", `blob:${one}`))).toEqual([])
  expect(blobRefs(tool("prt_a", pending))).toEqual([])
})
