import { describe, expect, test } from "vitest"
import { resolveOptions, type ServerOptions } from "../options.ts"
import { Guard, isLoopback, normalizeHost } from "./guard.ts"

const token = "a-token-of-some-length"

function guardOf(options: ServerOptions = {}, host = "127.0.0.1"): Guard {
  const guard = new Guard(resolveOptions({ token, ...options }))
  guard.address = { host, port: 4096 }
  return guard
}

function isCalled(guard: Guard, host: string): boolean {
  try {
    guard.checkSource({ method: "GET", headers: new Headers({ host }) })
    return true
  } catch {
    return false
  }
}

describe("a guard", () => {
  test("compares tokens of any length", () => {
    const guard = guardOf()
    const check = (given: string) => guard.checkToken(new Headers({ authorization: `Bearer ${given}` }))
    expect(() => check(token)).not.toThrow()
    for (let length = 1; length < 2 * token.length; length++) {
      if (length === token.length) continue
      expect(() => check((token + token).slice(0, length))).toThrow(/token is missing or wrong/)
    }
  })

  test("without a token refuses every call, unless `auth` is false", () => {
    const closed = new Guard(resolveOptions({}))
    expect(() => closed.checkToken(new Headers({ authorization: "Bearer undefined" }))).toThrow()
    expect(() => closed.checkToken(new Headers())).toThrow()
    expect(() => new Guard(resolveOptions({ auth: false })).checkToken(new Headers())).not.toThrow()
  })

  test("before it listens accepts only a Host from its options", () => {
    const guard = new Guard(resolveOptions({ token, hosts: ["Stemma.example.org"] }))
    expect(isCalled(guard, "127.0.0.1:4096")).toBe(false)
    expect(isCalled(guard, "stemma.example.org")).toBe(true)
  })

  test("on every address accepts any IP address with its port, but only known names", () => {
    const guard = guardOf({}, "0.0.0.0")
    for (const host of ["192.168.1.7:4096", "localhost:4096", "[fe80::1]:4096"])
      expect(isCalled(guard, host), host).toBe(true)
    for (const host of ["192.168.1.7", "192.168.1.7:80", "rebound.example.org:4096"])
      expect(isCalled(guard, host), host).toBe(false)
  })

  test("on one address accepts only that one", () => {
    const guard = guardOf({}, "192.168.1.7")
    expect(isCalled(guard, "192.168.1.7:4096")).toBe(true)
    for (const host of ["192.168.1.8:4096", "127.0.0.1:4096", "localhost:4096"])
      expect(isCalled(guard, host), host).toBe(false)
    const six = guardOf({}, "::1")
    expect(isCalled(six, "[::1]:4096")).toBe(true)
  })

  test("accepts the Host of the public address", () => {
    const guard = guardOf({ publicUrl: "https://stemma.example.org/" })
    expect(isCalled(guard, "stemma.example.org")).toBe(true)
    expect(isCalled(guard, "example.org")).toBe(false)
  })
})

test.each([
  ["127.0.0.1", true],
  ["127.8.9.10", true],
  ["localhost", true],
  ["::1", true],
  ["[::1]", true],
  ["0.0.0.0", false],
  ["::", false],
  ["", false],
  ["127.0.0.1.example.org", false],
  ["10.0.0.1", false],
])("loopback is %s: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected)
})

test.each([
  ["LOCALHOST", "localhost"],
  ["127.1", "127.0.0.1"],
  ["0x7f.1", "127.0.0.1"],
  ["0", "0.0.0.0"],
  ["[::1]", "::1"],
  ["0:0:0:0:0:0:0:1", "::1"],
  ["[0:0::0]", "::"],
  ["Bücher.example", "xn--bcher-kva.example"],
  // These are not host names.
  ["", ""],
  ["a@127.0.0.1", "a@127.0.0.1"],
  ["127.0.0.1/x", "127.0.0.1/x"],
  ["127.0.0.1:80", "127.0.0.1:80"],
  ["[::1]:80", "[::1]:80"],
])("host %s is %s", (host, expected) => {
  expect(normalizeHost(host)).toBe(expected)
})

describe("behind a proxy", () => {
  const guarded = (publicUrl: string) => {
    const guard = new Guard(resolveOptions({ token: "0123456789abcdef", publicUrl }))
    guard.address = { host: "127.0.0.1", port: 4096 }
    return guard
  }
  const call = (headers: Record<string, string>, method = "POST") => ({
    method,
    headers: new Headers(headers),
  })

  test("accepts the public address with and without its port, and its origin with any known Host", () => {
    const guard = guarded("https://stemma.example.org")
    for (const host of ["stemma.example.org", "stemma.example.org:443", "127.0.0.1:4096"]) {
      expect(() => guard.checkSource(call({ host, origin: "https://stemma.example.org" }))).not.toThrow()
    }
    expect(() => guard.checkSource(call({ host: "stemma.example.org:80" }))).toThrow()
    expect(() => guard.checkSource(call({ host: "127.0.0.1:4096", origin: "https://evil.org" }))).toThrow()
  })

  test("a link on another page may lead here with GET, but not with POST", () => {
    const guard = guarded("https://stemma.example.org")
    const headers = { host: "127.0.0.1:4096", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }
    expect(() => guard.checkSource(call(headers, "GET"))).not.toThrow()
    expect(() => guard.checkSource(call(headers, "POST"))).toThrow()
  })

  test.each(["https://x.org/?a=1", "https://x.org/#b", "https://u:p@x.org/", "ftp://x.org", "x.org"])(
    "%s is not a public address",
    (publicUrl) => {
      expect(() => resolveOptions({ publicUrl })).toThrow(/publicUrl/)
    },
  )
})
