import { expect, test } from "vitest"
import type { PartBody } from "../../protocol/index.ts"
import { searchText } from "./text.ts"

const id = "prt_1"
const time = { start: 1, end: 2 }

test.each<[string, PartBody, string, string]>([
  ["text, also if the model never sees it", { id, type: "text", text: "hi", ignored: true }, "text", "hi"],
  ["reasoning", { id, type: "reasoning", text: "hm", time }, "reasoning", "hm"],
  [
    "a tool's name, title, the strings of its input, its output and its files",
    {
      id,
      type: "tool",
      callID: "c",
      tool: "read",
      state: {
        status: "completed",
        input: { path: "a.ts", lines: [1, "two", { deep: "three" }], no: null },
        output: "out",
        title: "Read a.ts",
        metadata: { hidden: "x" },
        time,
        attachments: [
          { type: "file", mime: "image/png", filename: "b.png", url: "data:image/png;base64,AA" },
        ],
      },
    },
    "tool",
    "read\nRead a.ts\na.ts\ntwo\nthree\nout\nb.png",
  ],
  [
    "a tool's error",
    { id, type: "tool", callID: "c", tool: "run", state: { status: "error", input: {}, error: "no", time } },
    "tool",
    "run\nno",
  ],
  [
    "a file's name and readable place",
    { id, type: "file", mime: "text/plain", filename: "笔记.md", url: "file:///a/%E7%AC%94%E8%AE%B0.md" },
    "file",
    "笔记.md\nfile:///a/笔记.md",
  ],
  [
    "a file's name without its content",
    { id, type: "file", mime: "image/png", filename: "b.png", url: `blob:${"0".repeat(64)}` },
    "file",
    "b.png",
  ],
  ["a subtask", { id, type: "subtask", prompt: "p", description: "d", agent: "x" }, "other", "d\np"],
  ["a compaction", { id, type: "compaction", auto: true, summary: "s", ledger: "l" }, "other", "s\nl"],
  ["a patch", { id, type: "patch", hash: "h", files: ["a", "b"] }, "other", "a\nb"],
])("finds %s", (_, part, kind, text) => {
  expect(searchText(part)).toEqual({ kind, text })
})

test.each<PartBody>([
  { id, type: "text", text: " \n" },
  { id, type: "file", mime: "image/png", url: "data:image/png;base64,AA" },
  { id, type: "compaction", auto: false },
  { id, type: "agent", name: "x" },
  { id, type: "snapshot", snapshot: "x" },
  { id, type: "step-start" },
])("finds nothing in a part without words of its own: %j", (part) => {
  expect(searchText(part)).toBeUndefined()
})
