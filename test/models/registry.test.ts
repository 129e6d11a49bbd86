import { execFile } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { promisify } from "node:util"
import { describe, expect, test, vi } from "vitest"
import type { Model } from "../../src/models/model.ts"
import { type ProviderConfig, providerPackages } from "../../src/models/provider/providers.ts"
import { createModels, parseModelName } from "../../src/models/registry.ts"
import { expectHelpful, rejection } from "../support/rejection.ts"
import { failure } from "./ask.ts"

const noFetch: typeof fetch = () => Promise.reject(new Error("nothing may be sent"))
const models = (env: Record<string, string> = {}, provider: Record<string, ProviderConfig> = {}) =>
  createModels({ env, provider, fetch: noFetch })
const local = { npm: "@ai-sdk/openai-compatible", options: { baseURL: "http://127.0.0.1:1/v1" } }

describe("model references", () => {
  test("may contain slashes in the model's name", () => {
    expect(parseModelName("openrouter/anthropic/claude")).toEqual({
      providerID: "openrouter",
      modelID: "anthropic/claude",
    })
  })

  test.each(["gpt-5", "/gpt-5", "openai/", ""])("%j is not a valid reference", async (name) => {
    expectHelpful(await rejection(models().get(name)), "invalid")
  })

  test.each(["nobody/m1", "constructor/m1", "__proto__/m1"])(
    "%s: the error for an unknown provider names the known providers",
    async (name) => {
      const error = await rejection(models({}, { mine: local }).get(name))
      expectHelpful(error, "not_found")
      expect((error as Error).message).toMatch(/mine.*anthropic.*openai.*demo/)
    },
  )
})

describe("getting a model", () => {
  test("the error for a missing key names the variable and the config field", async () => {
    const error = await rejection(models().get("google/gemini-3.8-flash"))
    expectHelpful(error, "unavailable")
    expect((error as Error).message).toContain("GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY")
    expect((error as Error).message).toContain("provider.google.options.apiKey")
  })

  test("a known model has its limits and prices, and is the same object each time", async () => {
    const all = models({ ANTHROPIC_API_KEY: "sk-ant-12345678" })
    const model = await all.get("anthropic/claude-sonnet-4-5")
    expect(model.ref).toEqual({ providerID: "anthropic", modelID: "claude-sonnet-4-5" })
    expect(model.limit.context).toBe(200_000)
    expect(model.price).toMatchObject({ input: 3, output: 15 })
    expect(await all.get("anthropic/claude-sonnet-4-5")).toBe(model)
  })

  test("a server of the user needs no key, and does not get the provider's prices", async () => {
    const options = { baseURL: "http://127.0.0.1:1/v1" }
    const all = models(
      {},
      { openai: { options }, mine: { ...local, models: { m1: { cost: { input: 0, output: 0 } } } } },
    )
    expect((await all.get("openai/gpt-5")).price).toBeUndefined()
    expect((await all.get("mine/m1")).price).toMatchObject({ input: 0, output: 0 })
  })

  test.each(["left-pad", "./evil.js", "@ai-sdk/openai/../../evil", "@ai-sdk/mistral"])(
    "the package %s is not loaded, and the error names the allowed packages",
    async (npm) => {
      const error = await rejection(models({}, { mine: { ...local, npm } }).get("mine/m1"))
      expectHelpful(error, "invalid")
      for (const known of providerPackages) expect((error as Error).message).toContain(known)
    },
  )

  test.each([
    [undefined, /set provider\.mine\.options\.baseURL/],
    ["ftp://example.com", /http or https/],
    ["not an address", /http or https/],
    ["https://me:password123@example.com/v1", /options\.apiKey/],
  ])("an address such as %s is refused", async (baseURL, expected) => {
    const error = await rejection(models({}, { mine: { options: { baseURL } } }).get("mine/m1"))
    expect(error).toMatchObject({ code: "invalid", message: expect.stringMatching(expected) })
    expect((error as Error).message).not.toContain("password123")
  })

  test("a disabled provider is not used, even with a key", async () => {
    const all = createModels({
      env: { OPENAI_API_KEY: "sk-12345678" },
      disabled: ["openai", "ollama"],
      fetch: noFetch,
    })
    expectHelpful(await rejection(all.get("openai/gpt-5")), "denied")
    expect(await all.standard()).toBe("demo/guide")
  })

  test("a provider made in code takes precedence", async () => {
    const made = { ref: { providerID: "openai", modelID: "x" }, limit: { context: 0, output: 0 } } as Model
    const all = createModels({ env: {}, custom: { openai: () => made }, fetch: noFetch })
    expect(await all.get("openai/x")).toBe(made)
  })

  test("the demo provider always exists", async () => {
    const demo = await models().get("demo/guide")
    expect(demo.ref).toEqual({ providerID: "demo", modelID: "guide" })
  })
})

describe("the default model", () => {
  test.each([
    [{ ANTHROPIC_API_KEY: "a-key-12", OPENAI_API_KEY: "b-key-12" }, /^anthropic\/claude/],
    [{ OPENAI_API_KEY: "a-key-12", GEMINI_API_KEY: "b-key-12" }, /^openai\/gpt/],
    [{ GEMINI_API_KEY: "a-key-12" }, /^google\/gemini/],
    [{ GROQ_API_KEY: "a-key-12" }, /^groq\//],
    [{ OPENAI_API_KEY: "" }, /^demo\/guide$/],
    [{}, /^demo\/guide$/],
  ])("with %j", async (env, expected) => {
    expect(await models(env as Record<string, string>).standard()).toMatch(expected)
  })

  test("a configured model comes before a key in the environment", async () => {
    const env = { OPENAI_API_KEY: "a-key-12" }
    expect(await models(env, { mine: { ...local, models: { "a/b": {} } } }).standard()).toBe("mine/a/b")
    const unusable = { google: { models: { "gemini-2.5-pro": {} } } }
    expect(await models(env, unusable).standard()).toMatch(/^openai\//)
  })

  test("otherwise a running Ollama, searched for once", async () => {
    let asked = 0
    const http = createServer((_, response) => {
      asked++
      response.end(JSON.stringify({ models: [{ name: "qwen3:8b" }] }))
    }).listen(0, "127.0.0.1")
    await once(http, "listening")
    const env = { OLLAMA_HOST: `127.0.0.1:${(http.address() as AddressInfo).port}` }
    // The timeout of 100 ms is removed, because a busy machine may need longer.
    const patient: typeof fetch = (input, init) => fetch(input, { ...init, signal: null })
    const all = createModels({ env, fetch: patient })
    expect(await Promise.all([all.standard(), all.standard()])).toEqual([
      "ollama/qwen3:8b",
      "ollama/qwen3:8b",
    ])
    expect(asked).toBe(1)
    expect((await all.get("ollama/qwen3:8b")).limit).toEqual({ context: 0, output: 0 })
    http.closeAllConnections()
    http.close()
    await once(http, "close")
  })
})

test("names every variable that may contain a key, and every key in use", () => {
  const headers = { Authorization: "Bearer in-a-header", "X-Title": "not a secret" }
  const all = models(
    { OPENAI_API_KEY: "from-env" },
    { mine: { ...local, options: { apiKey: "from-config", headers } } },
  )
  expect(all.secretNames).toEqual(
    expect.arrayContaining(["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"]),
  )
  expect(all.secrets()).toEqual(["from-env", "from-config", "Bearer in-a-header", "in-a-header"])
})

test("keys and addresses come from the options, never from the environment of the process", async () => {
  const asked: { url: string; headers: Headers }[] = []
  const spy: typeof fetch = async (url, init) => {
    asked.push({ url: String(url), headers: new Headers(init?.headers) })
    return new Response("{}", { status: 500 })
  }
  const names = ["OPENAI", "ANTHROPIC", "GOOGLE_GENERATIVE_AI"]
  for (const name of names) {
    vi.stubEnv(`${name}_API_KEY`, "of-the-process")
    vi.stubEnv(`${name}_BASE_URL`, "http://127.0.0.1:2/v1")
  }
  for (const npm of providerPackages) {
    const provider = { mine: { npm, options: { baseURL: "http://127.0.0.1:1/v1" } } }
    await failure(await createModels({ env: {}, provider, fetch: spy }).get("mine/m1"))
  }
  const official = createModels({ env: { OPENAI_API_KEY: " given \n" }, fetch: spy })
  await failure(await official.get("openai/gpt-5"))
  vi.unstubAllEnvs()
  expect(asked.map(({ url }) => new URL(url).origin)).toEqual([
    ...Array(4).fill("http://127.0.0.1:1"),
    "https://api.openai.com",
  ])
  for (const { headers } of asked) expect([...headers.values()].join()).not.toContain("of-the-process")
  expect(asked.at(-1)!.headers.get("authorization")).toBe("Bearer given")
})

test("lists providers with their models, and whether they are ready", async () => {
  const listed = await models(
    { OPENAI_API_KEY: "sk-12345678" },
    { mine: { ...local, name: "Mine", models: { m1: {} } } },
  ).list()
  const by = Object.fromEntries(listed.map((provider) => [provider.id, provider]))
  expect(by.mine).toMatchObject({ name: "Mine", isReady: true, models: [{ id: "m1" }] })
  expect(by.openai).toMatchObject({ name: "OpenAI", isReady: true, keyNames: ["OPENAI_API_KEY"] })
  expect(by.anthropic!.isReady).toBe(false)
  expect(by.demo).toMatchObject({ isReady: true, models: [{ id: "guide" }] })
  expect(by.openai!.models.find(({ id }) => id === "gpt-5")!.limit.context).toBe(400_000)
})

test("a provider with an invalid config is listed with its problem, and hides no other provider", async () => {
  const listed = await models({}, { bad: { npm: "left-pad" } }).list()
  expect(listed[0]).toMatchObject({ id: "bad", isReady: false, problem: expect.stringContaining("left-pad") })
  expect(listed.map(({ id }) => id)).toContain("openai")
})

test("a package is loaded when its first model is requested, and no other package is loaded", async () => {
  const script = `
    import { registerHooks } from "node:module"
    const loaded = new Set()
    registerHooks({
      resolve(specifier, context, next) {
        if (/^@(ai-sdk|pydantic)\\//.test(specifier)) loaded.add(specifier)
        return next(specifier, context)
      },
    })
    const { createModels } = await import("./src/models/registry.ts")
    const models = createModels({ env: { ANTHROPIC_API_KEY: "sk-12345678", OPENAI_API_KEY: "sk-12345678" } })
    await models.standard()
    models.secrets()
    const before = [...loaded]
    await models.get("anthropic/nobody-knows")
    console.log(JSON.stringify({ before, after: [...loaded].filter((name) => !/provider/.test(name)).sort() }))`
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script])
  expect(JSON.parse(stdout)).toEqual({ before: [], after: ["@ai-sdk/anthropic"] })
})
