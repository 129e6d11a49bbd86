import { expect, test } from "vitest"
import { ModelError } from "../../models/model-error.ts"
import { StemmaError } from "../../protocol/index.ts"
import type { ContextMessage } from "../../session/index.ts"
import { errorTypeOf, inputContent, modelAttributes, outputContent } from "./gen-ai.ts"

const same = (text: string) => text

test.each([
  ["google", "gcp.gemini"],
  ["mistral", "mistral_ai"],
  ["moonshot", "moonshot_ai"],
  ["xai", "x_ai"],
  ["anthropic", "anthropic"],
  ["my-own", "my-own"],
  ["constructor", "constructor"],
])("the provider %s has the name %s in spans", (providerID, name) => {
  expect(modelAttributes({ providerID, modelID: "m" })["gen_ai.provider.name"]).toBe(name)
})

test.each([
  [new ModelError("rate", "Too many."), "rate"],
  [new StemmaError("denied", "No."), "denied"],
  [new Error("anything with words in it"), "_OTHER"],
  ["a text", "_OTHER"],
  [undefined, "_OTHER"],
])("the error type of %s is %s", (error, type) => {
  expect(errorTypeOf(error)).toBe(type)
})

test("the span of a long history has the newest messages only, with long texts cut", () => {
  const messages = Array.from(
    { length: 50 },
    (_, index): ContextMessage => ({
      role: "user",
      content: [{ type: "text", text: `${index} ${"x".repeat(100_000)}` }],
    }),
  )
  const text = String(inputContent({ system: [], messages }, same)["gen_ai.input.messages"])
  expect(text.length).toBeLessThan(70_000)
  const shown = JSON.parse(text) as { parts: { content: string }[] }[]
  expect(shown.map(({ parts }) => Number(parts[0]!.content.split(" ")[0]))).toEqual([47, 48, 49])
})

test("a secret is masked before its text is cut, so that no half of the secret remains", () => {
  const secret = "0123456789abcdef"
  const mask = (text: string) => text.replaceAll(secret, "[secret]")
  const text = `${"x".repeat(16 * 1024 - 5)}${secret}`
  const parts = [{ id: "prt_1", type: "text" as const, text }]
  const attribute = String(outputContent({ parts, finish: "stop" }, mask)["gen_ai.output.messages"])
  expect(attribute).not.toContain("01234")
})

test("every kind of text is masked", () => {
  const text = "0123456789abcdef"
  const messages: ContextMessage[] = [
    {
      role: "user",
      content: [
        { type: "text", text },
        { type: "file", mime: "image/png", url: text, filename: text },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text },
        { type: "tool-call", callID: "c1", tool: "read", input: { text } },
      ],
    },
    {
      role: "tool",
      content: [{ type: "tool-result", callID: "c1", tool: "read", isError: false, output: text }],
    },
  ]
  const mask = (given: string) => given.replaceAll(text, "[secret]")
  const shown = JSON.stringify(inputContent({ system: [text], messages }, mask))
  expect(shown).not.toContain(text)
  expect(shown.split("[secret]")).toHaveLength(7)
})

test("tool calls and results have their ids, and files have no bytes", () => {
  const messages: ContextMessage[] = [
    {
      role: "user",
      content: [{ type: "file", mime: "image/png", url: "data:image/png;base64,AAAA", filename: "a.png" }],
    },
    { role: "assistant", content: [{ type: "tool-call", callID: "c1", tool: "read", input: { a: 1 } }] },
    {
      role: "tool",
      content: [{ type: "tool-result", callID: "c1", tool: "read", isError: false, output: "alpha" }],
    },
  ]
  const given = inputContent({ system: ["Be kind."], messages }, same)
  expect(JSON.parse(String(given["gen_ai.system_instructions"]))).toEqual([
    { type: "text", content: "Be kind." },
  ])
  expect(JSON.parse(String(given["gen_ai.input.messages"]))).toEqual([
    { role: "user", parts: [{ type: "uri", mime_type: "image/png", name: "a.png" }] },
    { role: "assistant", parts: [{ type: "tool_call", id: "c1", name: "read", arguments: '{"a":1}' }] },
    { role: "tool", parts: [{ type: "tool_call_response", id: "c1", result: "alpha" }] },
  ])
})

test("a single message that exceeds the attribute limit is cut", () => {
  const parts = Array.from({ length: 300 }, (_, index) => ({
    id: `prt_${index}`,
    type: "text" as const,
    text: "x".repeat(10_000),
  }))
  const attribute = String(outputContent({ parts, finish: "stop" }, same)["gen_ai.output.messages"])
  expect(attribute.length).toBeLessThan(80_000)
  expect(JSON.parse(attribute)[0].parts.at(-1)).toEqual({ type: "text", content: "(The rest was left out.)" })
})
