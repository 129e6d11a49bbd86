import { describe, expect, test } from "vitest"
import { checkedAddresses, isPublicAddress, parseWebUrl, refuseWrittenPrivate } from "./address.ts"

const context = { agent: "build", decide: () => "ask" as const }

describe("addresses", () => {
  test.each(["1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])(
    "%s is public",
    async (address) => {
      expect(await isPublicAddress(address)).toBe(true)
    },
  )

  test.each([
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "::ffff:0:127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "localhost",
    "0177.0.0.1",
    "",
  ])("%s is not", async (address) => {
    expect(await isPublicAddress(address)).toBe(false)
  })
})

describe("unusual spellings", () => {
  test.each([
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://a.localhost:8080/",
    "http://0/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http:\\\\127.0.0.1\\",
    "http://127.0.0.1\t/",
    "http:127.0.0.1",
  ])("of a private host are recognised before any lookup: %s", async (text) => {
    await expect(refuseWrittenPrivate(parseWebUrl(text), context)).rejects.toThrow("public address")
  })

  test.each([
    ["HTTPS://EXAMPLE.com:443/A#b", "https://example.com/A"],
    ["https://example.com./", "https://example.com/"],
    ["https://bücher.example/", "https://xn--bcher-kva.example/"],
    ["http://example.com:80", "http://example.com/"],
  ])("of a public host are normalised: %s is %s", (text, expected) => {
    expect(parseWebUrl(text).href).toBe(expected)
  })

  test.each([
    ["http://good.example@127.0.0.1/", "user name or password"],
    ["http://user:secret@good.example/", "user name or password"],
    ["file:///etc/passwd", "Only http and https"],
    ["javascript:alert(1)", "Only http and https"],
    ["example.com/path", "not a URL"],
    ["https://", "not a URL"],
    ["https://*/", "not a valid name"],
    ["https://a..b/", "not a valid name"],
    ["https://../", "not a valid name"],
    [`https://example.com/${"x".repeat(9_000)}`, "not a URL"],
  ])("that are never fetched: %s", (text, message) => {
    expect(() => parseWebUrl(text)).toThrow(message)
  })

  test("a refusal does not repeat a password", () => {
    expect(() => parseWebUrl("http://user:hunter2@good.example/")).toThrow(/^(?!.*hunter2)/)
  })
})

describe("a lookup", () => {
  const url = new URL("https://name.example/")

  test("returns all addresses of a public host", async () => {
    const resolve = async (): Promise<string[]> => ["1.1.1.1", "2606:4700::1"]
    expect(await checkedAddresses(url, { resolve, context })).toEqual(["1.1.1.1", "2606:4700::1"])
  })

  test("refuses the host if one of its addresses is private, or if it has none", async () => {
    const resolve = async (): Promise<string[]> => ["1.1.1.1", "::ffff:10.0.0.1"]
    await expect(checkedAddresses(url, { resolve, context })).rejects.toThrow("public address")
    await expect(checkedAddresses(url, { resolve: async () => [], context })).rejects.toThrow("no address")
  })

  test("checks each lookup again, so that a rebound name is refused", async () => {
    const answers = [["1.1.1.1"], ["127.0.0.1"]]
    const resolve = async (): Promise<string[]> => answers.shift()!
    expect(await checkedAddresses(url, { resolve, context })).toEqual(["1.1.1.1"])
    await expect(checkedAddresses(url, { resolve, context })).rejects.toThrow("public address")
  })

  test("says that a host does not exist", async () => {
    await expect(checkedAddresses(new URL("https://nobody.invalid/"), { context })).rejects.toThrow(
      "nobody.invalid was not found",
    )
  })
})
