import { describe, expect, test } from "vitest"
import { namesIn, pathsIn } from "./names.ts"

describe("names", () => {
  test.each([
    ["it broke with 3f2a1bc, not before", ["3f2a1bc"]],
    ["request 45abacd3-3916-43ec-aac8-57584aba858b failed", ["45abacd3-3916-43ec-aac8-57584aba858b"]],
    ["see https://example.com/a?b=1.", ["https://example.com/a?b=1"]],
    ["PAY-812 and #41", ["PAY-812", "#41"]],
    ["TS2322, ENOENT, E1042 and ERR_TLS", ["TS2322", "ENOENT", "E1042", "ERR_TLS"]],
    ["got HTTP 503 from it", ["503"]],
    ["set DATABASE_URL on db-1.internal:5432", ["DATABASE_URL", "db-1.internal:5432"]],
    ["端口改成8443", ["8443"]],
    ["version 1.2.3-rc.1 of lodash@4.17.21", ["1.2.3-rc.1", "lodash@4.17.21"]],
    ["mail a.b@example.com about 10.0.3.7", ["a.b@example.com", "10.0.3.7"]],
  ])("in %j", (sentence, expected) => {
    const found = namesIn(sentence).filter(({ rank }) => rank >= 50)
    expect(found.map(({ value }) => value).sort()).toEqual([...expected].sort())
  })

  test("are not keys, nor the values of variables that hold them", () => {
    const found = namesIn(
      "sk-live-abcdefgh12345678abcd and API_TOKEN=abc123def456 and ghp_abcdefghij1234567890ab",
    )
    expect(found.map(({ value }) => value)).toEqual(["API_TOKEN"])
  })

  test.each([
    "200 ms, 5GB, 80%, 3x, 2nd",
    "at 17:46 or 9:05:12",
    "UTF-8 and SHA-256",
    "plain words only",
    "in 2024 we had 10000 users",
  ])("are none in %j", (sentence) => {
    expect(namesIn(sentence).filter(({ rank }) => rank >= 50)).toEqual([])
  })
})

describe("paths", () => {
  test.each([
    ["把src/net/retry.ts里的重试挪到src/net/backoff.ts了", ["src/net/retry.ts", "src/net/backoff.ts"]],
    [
      "`.github/workflows/ci.yml`, Dockerfile and (package.json)",
      [".github/workflows/ci.yml", "Dockerfile", "package.json"],
    ],
    ["app/[id]/page.tsx:12:3 fails", ["app/[id]/page.tsx"]],
    ["docs/中文/说明.md 不要改", ["docs/中文/说明.md"]],
    ["leave packages/legacy/ alone", ["packages/legacy/"]],
    ["and/or, 24/7, client/server, Node.js, v1.2.3, 10/12/2024, https://a.b/c.ts", []],
  ])("in %j", (sentence, expected) => {
    expect(pathsIn(sentence)).toEqual(expected)
  })
})
