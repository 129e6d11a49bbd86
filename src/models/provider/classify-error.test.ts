import { describe, expect, test } from "vitest"
import { createMask } from "../adapter/mask-secrets.ts"
import { classifyError } from "./classify-error.ts"

const call = {
  ref: { providerID: "p", modelID: "m" },
  mask: createMask(["sk-secret-123456"]),
  keyName: "P_API_KEY",
}

function apiError(statusCode: number, responseBody: object | string) {
  const body = typeof responseBody === "string" ? responseBody : JSON.stringify(responseBody)
  return Object.assign(new Error("Bad Request"), { name: "AI_APICallError", statusCode, responseBody: body })
}

describe("a context that is too long", () => {
  test.each([
    [
      "OpenAI",
      400,
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ],
    [
      "OpenAI chat",
      400,
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001.",
    ],
    ["Anthropic", 400, "prompt is too long: 210000 tokens > 200000 maximum"],
    ["Anthropic output", 400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"],
    [
      "Google",
      400,
      "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
    ],
    ["Ollama", 400, "the input length exceeds the context length"],
    ["Ollama prompt", 400, "prompt too long; exceeded max context length by 12 tokens"],
    ["vLLM", 400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."],
    ["llama.cpp", 400, "the request exceeds the available context size. try increasing the context size"],
    [
      "LM Studio",
      400,
      "The number of tokens to keep from the initial prompt is greater than the context length.",
    ],
    ["Groq", 400, "Please reduce the length of the messages or completion."],
    ["xAI", 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    [
      "Mistral",
      422,
      "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    ],
    ["OpenRouter", 400, "This endpoint's maximum context length is 128000 tokens."],
    ["Moonshot", 400, "Invalid request: Your request exceeded model token limit: 262144"],
    ["a local server", 500, "context length exceeded"],
  ])("in the words of %s", (_, status, message) => {
    const error = classifyError(apiError(status, { error: { message } }), call)
    expect(error.kind).toBe("context")
    expect(error.isRetryable).toBe(false)
  })

  test("is not assumed for other refusals", () => {
    for (const message of ["max_tokens is too large", "context is a required field", "Invalid 'messages'."]) {
      expect(classifyError(apiError(400, { error: { message } }), call).kind).toBe("refused")
    }
  })

  test("is not assumed for a limit of tokens per minute, which is a rate limit", () => {
    const message =
      "Request too large for m on tokens per min (TPM): Limit 30000. Please reduce the length of the messages."
    expect(classifyError(apiError(429, { error: { message } }), call).kind).toBe("rate")
  })
})

test.each([
  [{ message: "Overloaded", type: "overloaded_error" }, "server", 529],
  [{ message: "Too many", type: "rate_limit_error" }, "rate", 429],
  [{ message: "Provider returned error", code: 502 }, "server", 502],
  [{ message: "bad key", type: "authentication_error" }, "auth", 401],
  [{ message: "no", type: "invalid_request_error" }, "refused", 400],
  [{ message: "It broke." }, "server", 500],
  ["It broke.", "server", 500],
])("the error %j in a stream is %s", (error, kind, statusCode) => {
  expect(classifyError(error, call)).toMatchObject({ kind, statusCode })
})

test("takes the wait from an error in a stream, or from the headers of its response", () => {
  const error = { message: "Slow down", type: "rate_limit_error", retry_after: 2 }
  expect(classifyError(error, call).retryAfterMs).toBe(2000)
  const responseHeaders = { "retry-after-ms": "70", "set-cookie": "a=b" }
  const later = classifyError({ message: "Slow down", code: 429 }, { ...call, responseHeaders })
  expect(later.retryAfterMs).toBe(70)
  expect(later.responseHeaders).toEqual({ "retry-after-ms": "70" })
})

test.each([
  ['{"error":"model not found"}', "model not found"],
  ['{"detail":"No such thing"}', "No such thing"],
  ["upstream is asleep", "upstream is asleep"],
  ["<html><body>nginx</body></html>", "Bad Request"],
  ["", "Bad Request"],
])("finds the reason in the body %s", (body, reason) => {
  expect(classifyError(apiError(404, body), call).message).toBe(`p refused the request (404): ${reason}.`)
})

test("says where the key comes from, and never contains the key", () => {
  const error = classifyError(apiError(401, { error: { message: "wrong: sk-secret-123456" } }), call)
  expect(error.message).toBe("p did not accept the key (401, see P_API_KEY): wrong: [secret].")
  expect(error.responseBody).not.toContain("sk-secret")
})

test("does not keep the cause, which contains the request", () => {
  const error = Object.assign(apiError(500, "x"), { requestBodyValues: { secret: 1 } })
  expect(classifyError(error, call).cause).toBeUndefined()
})

test.each([
  Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
  new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ENOTFOUND" }) }),
  new TypeError("terminated", {
    cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
  }),
  Object.assign(new Error("Failed"), {
    statusCode: 200,
    cause: new TypeError("terminated"),
  }),
])("%s is a network failure", (error) => {
  expect(classifyError(error, call)).toMatchObject({ kind: "network", isRetryable: true })
})

test("any other thrown value is malformed, with a message of one short line", () => {
  for (const error of [new Error(`a\n\nb ${"x".repeat(5000)}`), undefined, null, Symbol("odd"), 7]) {
    const { kind, message } = classifyError(error, call)
    expect(kind).toBe("malformed")
    expect(message).not.toContain("\n")
    expect(message.length).toBeLessThan(520)
  }
})
