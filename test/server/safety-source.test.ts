import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createServer } from "../../src/server/index.ts"
import { runScene } from "../support/run-scene.ts"
import {
  authorization,
  expectRefusal,
  expectSafeHeaders,
  type SafetyScene,
  safetyScene,
} from "../support/server/safety-scene.ts"

const known = "https://app.example.org"
let scene: SafetyScene

beforeAll(async () => {
  scene = await safetyScene({ server: { hosts: ["stemma.example.org"], origins: [known] } })
})
afterAll(() => scene[Symbol.asyncDispose]())

const get = (...headers: string[]) => scene.say("GET /healthz HTTP/1.1", ...headers)

describe("a Host header", () => {
  test("may be any name of the address that the server listens on, in any case", async () => {
    for (const name of ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
      expect((await get(`Host: ${name}:${scene.port}`)).status, name).toBe(200)
  })

  test("may be a name from the config, on any port", async () => {
    for (const name of ["stemma.example.org", "stemma.example.org:8443"])
      expect((await get(`Host: ${name}`)).status, name).toBe(200)
  })

  test("with another name, or another port of this machine, is refused", async () => {
    const foreign = [
      "evil.example.org",
      `evil.example.org:${scene.port}`,
      `127.0.0.1.evil.example.org:${scene.port}`,
      `localhost.evil.example.org:${scene.port}`,
      `localhost.:${scene.port}`,
      `0.0.0.0:${scene.port}`,
      `192.168.0.1:${scene.port}`,
      "127.0.0.1",
      `127.0.0.1:${scene.port + 1}`,
      "sub.stemma.example.org",
    ]
    for (const name of foreign) expectRefusal(await get(`Host: ${name}`), 403)
  })

  test("that is not a plain host name is refused, even if it contains the right name", async () => {
    const own = `127.0.0.1:${scene.port}`
    for (const odd of [
      `${own}@evil.example.org`,
      `evil.example.org@${own}`,
      `user:password@${own}`,
      `${own}/`,
      `${own}#`,
      `${own}?`,
      `${own},evil.example.org`,
      `${own}\\evil.example.org`,
      "",
    ])
      expectRefusal(await get(`Host: ${odd}`), 400)
  })

  test("must occur exactly once", async () => {
    expectRefusal(await get(scene.host, "Host: evil.example.org"), 403)
    expectRefusal(await get("Host: evil.example.org", scene.host), 403)
    expectRefusal(await scene.say("GET /healthz HTTP/1.1"), 400)
    expectRefusal(await scene.say("GET /healthz HTTP/1.0"), 400)
  })

  test("must match the address in the request line", async () => {
    expect((await scene.say(`GET ${scene.url}/healthz HTTP/1.1`, scene.host)).status).toBe(200)
    expectRefusal(await scene.say("GET http://evil.example.org/healthz HTTP/1.1", scene.host), 400)
    expectRefusal(
      await scene.say("GET http://evil.example.org/healthz HTTP/1.1", "Host: evil.example.org"),
      403,
    )
    expectRefusal(await scene.say(`GET ${scene.url}/healthz HTTP/1.1`, "Host: evil.example.org"), 400)
  })

  test("is checked before the token, so that DNS rebinding learns nothing about the token", async () => {
    expectRefusal(await scene.say("GET /sessions HTTP/1.1", "Host: evil.example.org", authorization), 403)
  })
})

describe("an Origin header", () => {
  test("of the server itself is allowed, without CORS headers in the answer", async () => {
    for (const name of ["127.0.0.1", "localhost"]) {
      const answer = await get(`Host: ${name}:${scene.port}`, `Origin: http://${name}:${scene.port}`)
      expect(answer.status).toBe(200)
      expect(answer.text.toLowerCase()).not.toContain("access-control")
    }
  })

  test("of another page is refused, even with the token", async () => {
    const foreign = [
      "https://evil.example.org",
      "null",
      "",
      `http://127.0.0.1:${scene.port + 1}`,
      `http://localhost:${scene.port}`,
      `http://127.0.0.1:${scene.port}.evil.example.org`,
      "https://app.example.org.evil.example.org",
      "http://app.example.org",
      `${known}, https://evil.example.org`,
      "file://",
    ]
    for (const origin of foreign) {
      const answer = await scene.say("GET /sessions HTTP/1.1", scene.host, `Origin: ${origin}`, authorization)
      expectRefusal(answer, 403)
      expect(answer.text.toLowerCase()).not.toContain("access-control")
    }
  })

  test("from the config may call and may send a preflight, and the answer names only this origin", async () => {
    const answer = await scene.say("GET /sessions HTTP/1.1", scene.host, `Origin: ${known}`, authorization)
    expect(answer.status).toBe(200)
    expect(answer.headers["access-control-allow-origin"]).toBe(known)
    expect(answer.headers.vary).toBe("Origin")
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined()
    const asked = ["Access-Control-Request-Method: PATCH", "Access-Control-Request-Headers: authorization"]
    const before = await scene.say("OPTIONS /sessions HTTP/1.1", scene.host, `Origin: ${known}`, ...asked)
    expect(before.status).toBe(204)
    expect(before.headers["access-control-allow-origin"]).toBe(known)
    expect(before.headers["access-control-allow-methods"]).toContain("PATCH")
    expect(before.headers["access-control-allow-headers"]).toContain("authorization")
    expectSafeHeaders(before.headers)
    const other = await scene.say(
      "OPTIONS /sessions HTTP/1.1",
      scene.host,
      "Origin: https://evil.example.org",
      ...asked,
    )
    expectRefusal(other, 403)
  })

  test("from the config still needs the token, and its page may read the error", async () => {
    const answer = await scene.say("GET /sessions HTTP/1.1", scene.host, `Origin: ${known}`)
    expectRefusal(answer, 401)
    expect(answer.headers["access-control-allow-origin"]).toBe(known)
  })

  test("that is missing is replaced by Sec-Fetch-Site and Sec-Fetch-Mode", async () => {
    const ask = (site: string, mode: string, path = "/sessions") =>
      scene.say(
        `GET ${path} HTTP/1.1`,
        scene.host,
        `Sec-Fetch-Site: ${site}`,
        `Sec-Fetch-Mode: ${mode}`,
        authorization,
      )
    for (const site of ["cross-site", "same-site"]) expectRefusal(await ask(site, "no-cors"), 403)
    expect((await ask("same-origin", "cors")).status).toBe(200)
    expect((await ask("none", "navigate")).status).toBe(200)
    // A link may lead to public pages. A link to questions or events would count as the presence of a person.
    for (const path of ["/docs", "/healthz"]) {
      expect((await ask("cross-site", "navigate", path)).status).toBe(200)
    }
    for (const path of ["/sessions", "/questions", "/event", "/permission"]) {
      expectRefusal(await ask("cross-site", "navigate", path), 403)
    }
  })
})

describe("without a token", () => {
  test("a server listens on loopback only", async () => {
    await using run = await runScene()
    for (const host of ["0.0.0.0", "::", "", "192.168.0.1", "127.0.0.1.example.org"]) {
      const server = createServer(run.stemma, { auth: false })
      await expect(server.listen({ port: 0, host }), host).rejects.toMatchObject({ code: "denied" })
    }
    await using server = createServer(run.stemma, { auth: false })
    const { url } = await server.listen({ port: 0 })
    expect((await fetch(`${url}/sessions`)).status).toBe(200)
  })

  test("a server does not listen unless `auth: false` is set", async () => {
    await using run = await runScene()
    await expect(createServer(run.stemma).listen({ port: 0 })).rejects.toMatchObject({ code: "invalid" })
  })

  test("a page of another origin is refused too, and the answer and the log say that server.origins lacks it", async () => {
    await using run = await runScene()
    const warnings: string[] = []
    const onWarning = (error: unknown) => void warnings.push(String(error))
    await using server = createServer(run.stemma, { auth: false, onWarning })
    const { url } = await server.listen({ port: 0 })
    const call = (method: string, origin: string) => fetch(`${url}/sessions`, { method, headers: { origin } })
    const response = await call("POST", "https://evil.example.org")
    expect(response.status).toBe(403)
    const sentence =
      'The web page https://evil.example.org may not call this server, because server.origins in the config does not list it. If it may, add "https://evil.example.org" to server.origins and start the server again.'
    expect(await response.json()).toMatchObject({ code: "denied", message: sentence })
    expect((await call("OPTIONS", "https://evil.example.org")).status).toBe(403)
    expect(warnings).toEqual([expect.stringContaining(sentence)])
    for (let i = 0; i < 50; i++) await call("POST", `https://evil-${i}.example.org`)
    expect((await call("POST", "\u00ff<script>")).status).toBe(403)
    expect(warnings.length).toBeLessThan(30)
    expect(warnings.join()).not.toContain("script")
  })
})
