import { describe, expect, test } from "vitest"
import type { MessageError } from "../../../protocol/index.ts"
import { assistant, history, text, user } from "../../../session/samples.ts"
import { toWireError } from "./to-wire-error.ts"
import { toWireItem, toWireMessage } from "./to-wire-message.ts"
import { WireMessage, WireMessageError } from "./wire-message.ts"

const url = ({ url }: { url: string }) => url

describe("toWireMessage", () => {
  test("gives an answer its mode and a prompt its variant where the client looks for them", () => {
    const answer = toWireMessage(assistant("msg_1"))
    expect(answer).toMatchObject({ mode: "build", agent: "build", sessionID: "ses_one" })
    expect(WireMessage.parse(answer)).toEqual(answer)
    const prompt = toWireMessage({ ...user("msg_2"), variant: "high" })
    expect(prompt).toMatchObject({ model: { providerID: "demo", modelID: "demo-1", variant: "high" } })
    expect(WireMessage.parse(prompt)).toEqual(prompt)
  })

  test("gives a prompt the summary that was learnt later, with patches", () => {
    const [item] = history([user("msg_1"), text("prt_1", "Hi")])
    const diff = { file: "a.txt", before: "one\n", after: "two\n", additions: 1, deletions: 1 }
    const told = toWireItem({ ...item!, notes: { summary: { title: "T", diffs: [diff] } } }, { url })
    expect(told.info).toMatchObject({
      summary: { title: "T", diffs: [{ file: "a.txt", status: "modified", additions: 1, deletions: 1 }] },
    })
    expect(JSON.stringify(told.info)).toContain("-one\\n+two")
    expect(toWireItem({ ...item!, notes: { summary: "nonsense" } }, { url }).info).not.toHaveProperty(
      "summary",
    )
  })
})

test("toWireError keeps what errors of our own say", () => {
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
    const told = toWireError(error)
    expect(WireMessageError.parse(told)).toEqual(told)
    expect(told.data.message).toBe(message)
  }
  expect(toWireError(errors[0]!).name).toBe("UnknownError")
})
