import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, test } from "vitest"
import { ollamaAddress, ollamaModels } from "./ollama.ts"

describe("the address of Ollama", () => {
  const usual = "http://127.0.0.1:11434"
  test.each([
    [undefined, usual],
    ["", usual],
    ["localhost", "http://localhost:11434"],
    ["127.0.0.1:5000", "http://127.0.0.1:5000"],
    ["http://127.0.0.2:5000/", "http://127.0.0.2:5000"],
    ["http://localhost", "http://localhost:80"],
    ["[::1]:5000", "http://[::1]:5000"],
    ["0.0.0.0", usual],
    ["0.0.0.0:5000", "http://127.0.0.1:5000"],
    ["example.com:11434", usual],
    ["http://192.168.1.5:11434", usual],
    ["http://127.0.0.1.example.com", usual],
    ["http://user:password@127.0.0.1:5000", usual],
    ["not an address", usual],
  ])("OLLAMA_HOST %j: %s", (host, expected) => {
    expect(ollamaAddress({ OLLAMA_HOST: host })).toBe(expected)
  })
})

async function serving(listener: RequestListener) {
  const http = createServer(listener).listen(0, "127.0.0.1")
  await once(http, "listening")
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      http.close()
      await once(http, "close")
    },
  }
}

test("names the models of a running Ollama", async () => {
  await using server = await serving((request, response) => {
    expect(request.url).toBe("/api/tags")
    response.end(JSON.stringify({ models: [{ name: "qwen3:8b" }, { name: "gemma3" }, {}] }))
  })
  expect(await ollamaModels(server.url, { fetch, timeoutMs: 30_000 })).toEqual(["qwen3:8b", "gemma3"])
})

test.each<[string, RequestListener]>([
  ["never answers", () => undefined],
  ["is something else", (_, response) => response.end("<html>")],
  ["refuses", (_, response) => response.writeHead(500).end()],
  ["points elsewhere", (_, response) => response.writeHead(302, { location: "http://example.com" }).end()],
])("finds none if the server %s", async (_, listener) => {
  await using server = await serving(listener)
  expect(await ollamaModels(server.url, { fetch })).toEqual([])
})
