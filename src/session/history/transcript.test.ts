import { describe, expect, test } from "vitest"
import { assistant, completed, failed, history, part, pending, text, tool, user } from "../samples.ts"
import { sessionText, transcript } from "./transcript.ts"

const items = history(
  [user("msg_a"), text("prt_a", "Find all .el files")],
  [
    assistant("msg_b"),
    part("step-start", "prt_b", {}),
    part("reasoning", "prt_c", { text: "hm", time: { start: 1 } }),
    text("prt_d", "I'll search for .el files using glob."),
    tool("prt_e", completed("file1.el\nfile2.el\nfile3.el"), { tool: "glob" }),
  ],
  [assistant("msg_c"), text("prt_f", "I found 3 Emacs Lisp files.")],
  [
    user("msg_d"),
    text("prt_g", "Read\nthem"),
    part("file", "prt_h", { mime: "image/png", url: "data:,", filename: "a.png" }),
  ],
  [assistant("msg_e"), tool("prt_i", failed), tool("prt_j", pending), text("prt_k", "")],
)

describe("a transcript", () => {
  test("has a line for each text and each tool call", () => {
    expect(transcript(items.slice(0, 3)).split("\n")).toEqual([
      "[USER] Find all .el files",
      "[ASSISTANT] I'll search for .el files using glob.",
      "[TOOL] tool_use: glob",
      "[TOOL] tool_result: file1.el\\nfile2.el\\nfile3.el",
      "[ASSISTANT] I found 3 Emacs Lisp files.",
    ])
  })

  test("with `last` has only the last messages", () => {
    expect(transcript(items, { last: 1 })).toBe(
      "[TOOL] tool_use: read\n[TOOL] tool_result: error: no such file\n[TOOL] tool_use: read",
    )
    expect(transcript(items, { last: 0 })).toBe("")
    expect(transcript(items, { last: 99 })).toBe(transcript(items))
  })

  test("shows text as it was written, and names files", () => {
    expect(transcript(items.slice(3, 4))).toBe("[USER] Read\nthem\n[USER] [file: a.png]")
  })

  test("as plain text has only text parts", () => {
    expect(sessionText(items.slice(0, 4))).toBe(
      "[user] Find all .el files\n\n[assistant] I'll search for .el files using glob.\n\n" +
        "[assistant] I found 3 Emacs Lisp files.\n\n[user] Read\nthem",
    )
    expect(sessionText(items.slice(4))).toBe("")
  })
})
