import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createServer } from "../../src/server/index.ts"
import { token } from "../support/server/http-scene.ts"
import {
  allOperations,
  authorization,
  expectRefusal,
  type SafetyScene,
  safetyScene,
} from "../support/server/safety-scene.ts"

let scene: SafetyScene

beforeAll(async () => {
  scene = await safetyScene()
})
afterAll(() => scene[Symbol.asyncDispose]())

const ask = (...headers: string[]) => scene.say("GET /sessions HTTP/1.1", scene.host, ...headers)
const basic = (text: string) => `Authorization: Basic ${Buffer.from(text).toString("base64")}`

describe("the token", () => {
  test("is accepted as a bearer token, and as the password of any user name", async () => {
    for (const header of [
      authorization,
      `authorization: bearer ${token}`,
      `Authorization:   BEARER ${token}  `,
      basic(`stemma:${token}`),
      basic(`:${token}`),
      basic(`any body:${token}`),
    ])
      expect((await ask(header)).status, header).toBe(200)
  })

  test("must match exactly: no other length, no other character, no other header", async () => {
    const wrong = [
      undefined,
      "Authorization:",
      "Authorization: Bearer",
      "Authorization: Bearer ",
      `Authorization: Bearer ${token.slice(0, -1)}`,
      `Authorization: Bearer ${token.slice(1)}`,
      `Authorization: Bearer ${token}x`,
      `Authorization: Bearer x${token}`,
      `Authorization: Bearer ${token}${token}`,
      `Authorization: Bearer ${token.slice(0, -1)}!`,
      `Authorization: Bearer ${token.toUpperCase()}`,
      `Authorization: Bearer ${"x".repeat(token.length)}`,
      `Authorization: Bearer ${"x".repeat(10_000)}`,
      `Authorization: Bearer ${token} ${token}`,
      `Authorization: Bearer "${token}"`,
      `Authorization: ${token}`,
      `Authorization: Token ${token}`,
      `Authorization: Bearer ${Buffer.from(token).toString("base64")}`,
      basic(token),
      basic(`${token}:`),
      basic(`${token}:x`),
      basic(`stemma:${token}:`),
      basic(`stemma:x${token}`),
      basic(""),
      "Authorization: Basic ====",
      "Authorization: Basic",
      `X-Authorization: Bearer ${token}`,
      `Proxy-Authorization: Bearer ${token}`,
      `Cookie: token=${token}`,
    ]
    for (const header of wrong) {
      const answer = await ask(...(header === undefined ? [] : [header]))
      expectRefusal(answer, 401)
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer .*Basic /)
      expect(answer.text).not.toContain(token)
    }
  })

  test("is refused if a second, different Authorization header is sent", async () => {
    expectRefusal(await ask(authorization, "Authorization: Bearer x"), 401)
    expectRefusal(await ask("Authorization: Bearer x", authorization), 401)
  })

  test("is ignored in a URL, because URLs are logged", async () => {
    for (const name of ["token", "access_token", "auth", "key"])
      expectRefusal(await scene.say(`GET /sessions?${name}=${token} HTTP/1.1`, scene.host), 401)
    expectRefusal(await scene.say(`GET /${token}/sessions HTTP/1.1`, scene.host), 401)
  })

  test("is required by every route that is not public, before any other check", async () => {
    for (const { method, path, operation } of allOperations()) {
      const target = path.replace(/\{\w+\}/g, "%00")
      const answer = await scene.say(
        `${method} ${target}?odd=1 HTTP/1.1`,
        scene.host,
        "Content-Type: text/plain",
        "Content-Length: 0",
      )
      if (operation.security) expect(answer.status, `${method} ${path}`).not.toBe(401)
      else expectRefusal(answer, 401)
    }
  })

  test("is required to learn that a path does not exist", async () => {
    for (const target of ["/nothing", "/sessions/", "//sessions", "/session", "/favicon.ico", "/.env"])
      expectRefusal(await scene.say(`GET ${target} HTTP/1.1`, scene.host), 401)
    expectRefusal(await scene.say("GET /nothing HTTP/1.1", scene.host, authorization), 404)
    const first = await scene.say("GET / HTTP/1.1", scene.host)
    expect([first.status, first.headers.location]).toEqual([302, "/docs"])
  })

  test("is not accepted if it can be guessed or is not valid in a header", () => {
    for (const bad of ["", "short", "fifteen-letters", "a token with blanks in it", "ein-tökén-ohne-ascii"])
      expect(() => createServer(scene.stemma, { token: bad }), bad).toThrow(/at least 16 characters/)
  })
})
