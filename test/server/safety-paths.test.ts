import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { token } from "../support/server/http-scene.ts"
import {
  allOperations,
  expectRefusal,
  type SafetyScene,
  safetyScene,
} from "../support/server/safety-scene.ts"

const json = { accept: "application/json", "content-type": "application/json" }
let scene: SafetyScene

beforeAll(async () => {
  scene = await safetyScene({ files: { "secret.txt": "planted" } })
})
afterAll(() => scene[Symbol.asyncDispose]())

/** Values that an attacker sends instead of an id. URL parsing removes dot segments before the router sees them. */
const craftedIDs = [
  "..%2f..%2fetc%2fpasswd",
  "%2e%2e%2f%2e%2e%2fetc",
  "..%5c..%5cwindows",
  "....%2f%2f",
  "ses_..",
  "ses_%2e%2e%2fx",
  "ses_01%2f..%2f..",
  "%00",
  "ses_01%00",
  "ses_01%0d%0aX-Planted:%201",
  "ses_01%0a",
  "%20",
  "ses_01%20",
  "%ff%fe",
  "%c0%ae%c0%ae%c0%af",
  "%ed%a0%80",
  "ses_%f0%9f%98%80",
  "ses_%e2%80%ae",
  "ses_%d0%be",
  "%",
  "%zz",
  "%u002e",
  "__proto__",
  "constructor",
  "toString",
  "undefined",
  "null",
  "*",
  "{id}",
  "ses_'%20or%201=1--",
  "ses_%25",
  "-",
  "a".repeat(65),
  `ses_${"a".repeat(64)}`,
  `ses_${"a".repeat(8000)}`,
]

describe("an id in a path", () => {
  const operations = allOperations().filter(({ path }) => path.includes("{"))

  test("is validated on every route that has one, so that no crafted id is accepted", async () => {
    expect(operations.length).toBeGreaterThan(60)
    const cursor = await scene.stemma.store.cursor()
    for (const { method, path, operation } of operations) {
      for (const craftedID of craftedIDs) {
        const target = path.replace(/\{\w+\}/g, craftedID)
        const request = new Request(scene.url + target, {
          method,
          headers: { host: new URL(scene.url).host, authorization: `Bearer ${token}`, ...json },
          ...(operation.requestBody && { body: "{}" }),
        })
        const response = await scene.server.fetch(request)
        const headers = Object.fromEntries(response.headers)
        const body = await response.text()
        const what = `${method} ${target.slice(0, 100)}: ${body.slice(0, 300)}`
        expect([400, 404], what).toContain(response.status)
        expectRefusal({ status: response.status, headers, body, text: what }, response.status)
        expect(body.length, what).toBeLessThan(2000)
      }
    }
    expect(await scene.stemma.store.cursor()).toBe(cursor)
  })

  test("is validated as it was sent over the wire", async () => {
    for (const path of ["/sessions/", "/session/", "/blobs/", "/share/", "/api/agents/build/sessions/"]) {
      for (const craftedID of craftedIDs) {
        const answer = await scene.sayJson(`GET ${path}${craftedID} HTTP/1.1`, "")
        expect([400, 404], `${path}${craftedID}`).toContain(answer.status)
        expectRefusal(answer, answer.status)
        expect(answer.headers["x-planted"]).toBeUndefined()
      }
    }
  })

  test("that consists of dots only is removed by URL parsing, and does not reach another route", async () => {
    for (const dots of ["..", "%2e%2e", "%2E.", "."]) {
      expect((await scene.say(`GET /sessions/${dots}/sessions HTTP/1.1`, scene.host)).status, dots).toBe(401)
      expect((await scene.say(`GET /docs/${dots}/sessions HTTP/1.1`, scene.host)).status, dots).toBe(401)
    }
    expect((await scene.say("GET /sessions/../healthz HTTP/1.1", scene.host)).status).toBe(200)
    expectRefusal(await scene.say("GET /docs/..%2fsessions HTTP/1.1", scene.host), 401)
    expectRefusal(await scene.say("GET /docs\\..\\sessions HTTP/1.1", scene.host), 400)
  })
})

describe("a directory", () => {
  test("must be an absolute path of an existing directory", async () => {
    for (const bad of [
      "%00",
      "..",
      "../..",
      ".",
      "relative",
      "~",
      "",
      "%2fnothing%2fhere",
      "file:%2f%2f%2f",
      "a".repeat(5000),
    ]) {
      const answer = await scene.sayJson(`GET /agents?directory=${bad} HTTP/1.1`, "")
      expect([400, 404], `${bad}: ${answer.text}`).toContain(answer.status)
      expectRefusal(answer, answer.status)
    }
  })
})

describe("a file", () => {
  test("outside the directory is not shown, however its path is written", async () => {
    const directory = encodeURIComponent(scene.directory)
    const inside = await scene.sayJson(
      `GET /file/content?directory=${directory}&path=secret.txt HTTP/1.1`,
      "",
    )
    expect(inside.body).toContain("planted")
    for (const path of [
      "../data/stemma.db",
      "..",
      "/etc/passwd",
      "%2fetc%2fpasswd",
      "..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
      "%00",
      "secret.txt%00.png",
      "file:%2f%2f%2fetc%2fpasswd",
      "~%2f.ssh%2fid_rsa",
      "%2fproc%2fself%2fenviron",
    ]) {
      for (const route of ["/file/content", "/file"]) {
        const answer = await scene.sayJson(`GET ${route}?directory=${directory}&path=${path} HTTP/1.1`, "")
        expect([400, 403, 404], `${route} ${path}: ${answer.text}`).toContain(answer.status)
        expectRefusal(answer, answer.status)
      }
    }
  })
})
