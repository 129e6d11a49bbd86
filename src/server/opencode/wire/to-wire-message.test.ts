import { describe, expect, test } from "vitest"
import type { MessageError } from "../../../protocol/index.ts"
import { assistant, history, text, user } from "../../../session/samples.ts"
import { toWireError } from "./to-wire-error.ts"
import { toWireItem, toWireMessage } from "./to-wire-message.ts"
import { WireMessage, WireMessageError } from "./wire-message.ts"

const url = ({ url }: { url: string }) => url

describe("toWireMessage", () => {
  test("sets the mode of an answer and the variant of a prompt", () => {
    const answer = toWireMessage(assistant("msg_1"))
    expect(answer).toMatchObject({ mode: "build", agent: "build", sessionID: "ses_one" })
    expect(WireMessage.parse(answer)).toEqual(answer)
    const prompt = toWireMessage({ ...user("msg_2"), variant: "high" })
    expect(prompt).toMatchObject({ model: { providerID: "demo", modelID: "demo-1", variant: "high" } })
    expect(WireMessage.parse(prompt)).toEqual(prompt)
  })

  test("adds the summary from a note to its prompt, with patches", () => {
    const [item] = history([user("msg_1"), text("prt_1", "Hi")])
    const diff = { file: "a.txt", before: "one\n", after: "two\n", additions: 1, deletions: 1 }
    const wire = toWireItem({ ...item!, notes: { summary: { title: "T", diffs: [diff] } } }, { url })
    expect(wire.info).toMatchObject({
      summary: { title: "T", diffs: [{ file: "a.txt", status: "modified", additions: 1, deletions: 1 }] },
    })
    expect(JSON.stringify(wire.info)).toContain("-one\\n+two")
    expect(toWireItem({ ...item!, notes: { summary: "nonsense" } }, { url }).info).not.toHaveProperty(
      "summary",
    )
  })
})

test("toWireError keeps the message of Stemma's own errors", () => {
  const message = "Why."
  const errors: MessageError[] = [
    { name: "DoomLoopError", data: { message, tool: "bash" } },
    { name: "BudgetError", data: { message } },
    { name: "InterruptedError", data: { message } },
    { name: "ProviderAuthError", data: { message, providerID: "x" } },
    { name: "APIError", data: { message, isRetryable: false } },
    { name: "ContextOverflowError", data: { message } },
    { name: "MessageAbortedError", data: { message } },
    { name: "MessageOutputLengthError", data: { message } },
    { name: "UnknownError", data: { message } },
  ]
  for (const error of errors) {
    const wire = toWireError(error)
    expect(WireMessageError.parse(wire)).toEqual(wire)
    expect(wire.data.message).toBe(message)
  }
  expect(toWireError(errors[0]!).name).toBe("UnknownError")
})
