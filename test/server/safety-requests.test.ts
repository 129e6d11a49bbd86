import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { token } from "../support/server/http-scene.ts"
import {
  authorization,
  expectRefusal,
  expectSafeHeaders,
  type SafetyScene,
  safetyScene,
} from "../support/server/safety-scene.ts"
import { exchange, openConnection } from "../support/server/safety-socket.ts"

const mebibyte = 1024 * 1024
let scene: SafetyScene

beforeAll(async () => {
  scene = await safetyScene({
    server: { headersTimeoutMs: 700, bodyTimeoutMs: 700 },
    env: {
      PATH: process.env.PATH,
      OPENAI_API_KEY: "sk-planted-in-the-environment",
      PLANTED: "planted-value",
    },
  })
})
afterAll(() => scene[Symbol.asyncDispose]())

/** The head of a request with a body. */
const post = (...headers: string[]) =>
  [
    "POST /sessions HTTP/1.1",
    scene.host,
    authorization,
    "Content-Type: application/json",
    ...headers,
    "",
    "",
  ].join("\r\n")

describe("a request body", () => {
  test("of 21 MiB is refused by its Content-Length, before it is sent", async () => {
    await using connection = openConnection(scene.port, post(`Content-Length: ${21 * mebibyte}`))
    expectRefusal(await connection.ended, 413)
  })

  test("of 21 MiB in chunks is refused at the limit, and the rest is not kept", async () => {
    const before = process.memoryUsage().arrayBuffers
    await using connection = openConnection(scene.port, post("Transfer-Encoding: chunked"))
    const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(65_536, 0x20), Buffer.from("\r\n")])
    let sent = 0
    let most = 0
    while (!connection.socket.destroyed && connection.socket.writable && sent < 200 * mebibyte) {
      sent += 65_536
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      if (!connection.socket.write(chunk)) await new Promise((resolve) => setImmediate(resolve))
      if (connection.text() !== "") break
    }
    expectRefusal(await connection.ended, 413)
    expect(sent).toBeLessThan(64 * mebibyte)
    expect(most).toBeLessThan(100 * mebibyte)
    expect(await scene.json("/healthz")).toMatchObject({ status: "ok" })
  })

  test("may have 20 MiB", async () => {
    const text = JSON.stringify({ title: "x", odd: "y".repeat(20 * mebibyte - 100) })
    const response = await scene.call("/sessions", {
      method: "POST",
      body: text,
      headers: { "content-type": "application/json" },
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ message: expect.stringContaining("odd") })
  })

  test("that does not arrive in time is refused with 408", async () => {
    await using connection = openConnection(scene.port, `${post("Content-Length: 20")}{"title":`)
    expectRefusal(await connection.ended, 408)
    await using drip = openConnection(scene.port, post("Content-Length: 2000"))
    const timer = setInterval(() => drip.socket.write(" "), 50)
    expectRefusal(await drip.ended, 408)
    clearInterval(timer)
  })

  test("that is cut off changes nothing", async () => {
    const cursor = await scene.stemma.store.cursor()
    {
      await using connection = openConnection(scene.port, `${post("Content-Length: 20")}{"title":"x"}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
      connection.socket.end()
    }
    expect(await scene.json("/healthz")).toMatchObject({ status: "ok" })
    expect(await scene.stemma.store.cursor()).toBe(cursor)
  })

  test.each([
    ["text/plain", "{}", 415],
    ["application/x-www-form-urlencoded", "title=x", 415],
    ["multipart/form-data; boundary=x", "--x--", 415],
    ["application/jsonp", "{}", 415],
    ["application/json", "{", 400],
    ["application/json", "\u0000", 400],
    ["application/json", '{"title":"x"}{}', 400],
    ["application/json", "[]", 400],
    ["application/json", "null", 400],
    ["application/json", '"text"', 400],
    ["application/json", "1e999", 400],
    ["application/json", "[".repeat(100_000), 400],
    ["application/json", '{"__proto__":{"title":"x"}}', 400],
    ["application/json", '{"constructor":{"prototype":{"title":"x"}}}', 400],
    ["application/json", `{"title":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`, 400],
  ])("of type %s with the content %.30s is refused with %i", async (type, body, status) => {
    const headers = ["POST /sessions HTTP/1.1", scene.host, authorization, `Content-Type: ${type}`]
    const answer = await exchange(
      scene.port,
      [...headers, `Content-Length: ${Buffer.byteLength(body)}`],
      body,
    )
    expectRefusal(answer, status)
    expect(({} as Record<string, unknown>).title).toBeUndefined()
  })

  test("that is not valid UTF-8 is refused", async () => {
    const body = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])
    const said = Buffer.concat([
      Buffer.from(post(`Content-Length: ${body.length}`, "Connection: close")),
      body,
    ])
    await using connection = openConnection(scene.port, said)
    expectRefusal(await connection.ended, 400)
  })
})

describe("request headers", () => {
  test("of more than 16 KiB are refused with 431", async () => {
    expectRefusal(await scene.say("GET /healthz HTTP/1.1", scene.host, `X-Big: ${"x".repeat(17_000)}`), 431)
    const many = Array.from({ length: 3000 }, (_, at) => `X-${at}: 1`)
    expectRefusal(await scene.say("GET /healthz HTTP/1.1", scene.host, ...many), 431)
    expectRefusal(await scene.say(`GET /healthz?${"x".repeat(17_000)} HTTP/1.1`, scene.host), 431)
  })

  test("that never end are refused with 408", async () => {
    await using connection = openConnection(scene.port, `GET /healthz HTTP/1.1\r\n${scene.host}\r\nX-`)
    const timer = setInterval(() => connection.socket.write("a"), 100)
    expectRefusal(await connection.ended, 408)
    clearInterval(timer)
  })

  test.each([
    ["both lengths", ["Content-Length: 2", "Transfer-Encoding: chunked"]],
    ["two different lengths", ["Content-Length: 2", "Content-Length: 3"]],
    ["a negative length", ["Content-Length: -1"]],
    ["a length that is not a number", ["Content-Length: 2x"]],
    ["a Transfer-Encoding where chunked is not last", ["Transfer-Encoding: chunked, identity"]],
    ["a space before a colon", ["Content-Length : 2"]],
    ["a folded line", ["X-A: b", " c"]],
    ["a line without a colon", ["nonsense"]],
    ["a bare carriage return", ["X-A: b\rX-B: c"]],
    ["a NUL", ["X-A: b\0c"]],
  ])("with %s are refused, because two servers could parse them differently", async (_, headers) => {
    const body = "0\r\n\r\nGET /sessions HTTP/1.1\r\n\r\n"
    const answer = await exchange(
      scene.port,
      ["POST /sessions HTTP/1.1", scene.host, authorization, ...headers],
      body,
    )
    expectRefusal(answer, 400)
    expect(answer.text.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })

  test("with an unsupported Expect are refused with 417", async () => {
    expectRefusal(await scene.say("POST /sessions HTTP/1.1", scene.host, authorization, "Expect: tea"), 417)
  })
})

describe("a method", () => {
  test.each(["OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "PROPFIND", "PURGE"])(
    "%s is not allowed on this path",
    async (method) => {
      const answer = await scene.say(`${method} /sessions HTTP/1.1`, scene.host, authorization)
      expectRefusal(answer, 405)
      expect(answer.headers.allow?.split(", ").sort()).toEqual(["GET", "POST"])
      expect(answer.text).not.toContain(token)
    },
  )

  test.each(["get", "BREW", "GET/", "\0"])("%j is not a known method", async (method) => {
    expectRefusal(await scene.say(`${method} /healthz HTTP/1.1`, scene.host, authorization), 400)
  })

  test("HEAD answers like GET without a body, but does not open a stream", async () => {
    const answer = await scene.say("HEAD /sessions HTTP/1.1", scene.host, authorization)
    expect([answer.status, answer.body]).toEqual([200, ""])
    expectSafeHeaders(answer.headers)
    const { id } = await scene.stemma.sessions.create()
    expect((await scene.say(`HEAD /sessions/${id}/event HTTP/1.1`, scene.host, authorization)).status).toBe(
      405,
    )
  })

  test("CONNECT opens no tunnel, and an upgrade is ignored", async () => {
    const tunnel = await scene.say("CONNECT 127.0.0.1:22 HTTP/1.1", scene.host, authorization)
    expect([0, 400, 405]).toContain(tunnel.status)
    const upgrade = await scene.say("GET /healthz HTTP/1.1", scene.host, "Upgrade: websocket")
    expect(upgrade.status).toBe(200)
  })
})

describe("connections", () => {
  test("that send nothing are closed, and block no other connection", async () => {
    const silent = Array.from({ length: 300 }, () => openConnection(scene.port))
    try {
      expect(await scene.json("/healthz")).toMatchObject({ status: "ok" })
      const answers = await Promise.all(silent.map(({ ended }) => ended))
      for (const answer of answers) expectRefusal(answer, 408)
    } finally {
      for (const one of silent) await one[Symbol.asyncDispose]()
    }
  })

  test("can be reused after a refusal", async () => {
    const request = (path: string) => `GET ${path} HTTP/1.1\r\n${scene.host}\r\n${authorization}\r\n`
    const last = `${request("/healthz")}Connection: close\r\n\r\n`
    await using connection = openConnection(
      scene.port,
      `${request("/nothing")}\r\n${request("/sessions/-")}\r\n${last}`,
    )
    const { text } = await connection.ended
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 404", "HTTP/1.1 400", "HTTP/1.1 200"])
  })

  test("that send invalid data during a stream are closed, and get no error text in the stream", async () => {
    const { id } = await scene.stemma.sessions.create()
    const request = `GET /sessions/${id}/event HTTP/1.1\r\n${scene.host}\r\n${authorization}\r\n\r\n`
    await using connection = openConnection(scene.port, request)
    await connection.answered
    connection.socket.write("\0\0\0nonsense\r\n\r\n")
    const { text } = await connection.ended
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })
})

describe("every answer", () => {
  test("has the security headers: JSON, text, bytes, pages, streams, slow answers, refusals", async () => {
    const { id } = await scene.stemma.sessions.create()
    const hash = await scene.stemma.store.blobs.put(Buffer.from("<script>alert(1)</script>"))
    const paths = [
      "/sessions",
      "/metrics",
      "/docs",
      "/docs/style.css",
      "/openapi.json",
      `/blobs/${hash}`,
      "/nothing",
    ]
    for (const path of paths)
      expectSafeHeaders((await scene.say(`GET ${path} HTTP/1.1`, scene.host, authorization)).headers)
    for (const path of [`/sessions/${id}/event`, `/session/${id}/event?format=rows`, "/event"]) {
      await using stream = openConnection(
        scene.port,
        `GET ${path} HTTP/1.1\r\n${scene.host}\r\n${authorization}\r\n\r\n`,
      )
      const { status, headers } = await stream.answered
      expect([path, status]).toEqual([path, 200])
      expectSafeHeaders(headers)
      expect(headers["cache-control"]).toBe("no-store")
    }
    scene.model.add({ text: "Yes." })
    const slow = await scene.sayJson(`POST /sessions/${id}/ask HTTP/1.1`, '{"text":"Hi"}')
    expect(slow.status).toBe(200)
    expectSafeHeaders(slow.headers)
    const attached = await scene.say(`GET /blobs/${hash} HTTP/1.1`, scene.host, authorization)
    expect(attached.headers["content-disposition"]).toMatch(/^attachment/)
    expect(attached.headers["content-type"]).toBe("application/octet-stream")
  })

  test("contains neither the environment nor the token", async () => {
    const { id } = await scene.stemma.sessions.create()
    const readings = [
      "/projects/current",
      "/agents",
      "/providers",
      "/metrics",
      "/config",
      "/config/providers",
      "/path",
      "/sessions",
    ]
    for (const path of [
      ...readings,
      "/agent",
      "/project/current",
      `/sessions/${id}`,
      "/openapi.json",
      "/docs",
    ]) {
      const { text } = await scene.say(`GET ${path} HTTP/1.1`, scene.host, authorization)
      for (const secret of ["sk-planted-in-the-environment", "planted-value", token])
        expect(text, path).not.toContain(secret)
    }
    const shell = await scene.sayJson(`POST /sessions/${id}/shell HTTP/1.1`, '{"command":"env"}')
    expect(shell.body).toContain("PATH=")
    for (const secret of ["sk-planted-in-the-environment", token]) expect(shell.text).not.toContain(secret)
  })
})
