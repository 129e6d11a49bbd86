import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { createSharedMask } from "../mask-shared.ts"
import { environmentSecrets } from "./secret-values.ts"

describe("known values", () => {
  const values = environmentSecrets({
    MY_SERVICE_KEY: "plain words with / and ä",
    GIT_AUTHOR_NAME: "Jane Example",
    DATABASE_URL: "mysql-host-of-ours",
    SHORT_TOKEN: "seven77",
    KEYBOARD_LAYOUT: "qwertz-deluxe",
    LANG: "en_GB.UTF-8",
    app_passwd: "lower-case-too",
  })
  const known = createSharedMask({ values, paths: [] })
  const value = values[0]!

  test("are the values of variables with a secret name", () => {
    expect(values).toEqual(["plain words with / and ä", "mysql-host-of-ours", "lower-case-too"])
  })

  test("are found literally, in JSON, in a URL and in base64", () => {
    const forms = [
      value,
      JSON.stringify(`x"${value}`),
      `https://a.example/?q=${encodeURIComponent(value)}`,
      Buffer.from(value).toString("base64"),
      Buffer.from(`user:${value}`).toString("base64"),
      Buffer.from(`ab${value}cd`).toString("base64url"),
    ]
    for (const form of forms) {
      const [shown] = known([`before ${form} after`])
      expect(shown).toContain("[redacted]")
      expect(shown).not.toContain("plain words")
      expect(shown).not.toContain(Buffer.from(value).toString("base64").slice(8, 24))
    }
  })

  test("are found when they are split between two texts", () => {
    expect(known([value.slice(0, 11), value.slice(11)])).toEqual(["[redacted]", ""])
  })
})

/** Encodes a text. `chosen` decides for each unit whether it becomes an escape. */
type Encode = (text: string, chosen: () => boolean) => string

const characters = (text: string, encode: (character: string) => string) => Array.from(text, encode).join("")
const bytesOf = (text: string, encode: (byte: string) => string) =>
  Buffer.from(text)
    .toString("hex")
    .replace(/../g, (byte) => encode(byte))
const cased = (text: string, isUpper: boolean) => (isUpper ? text.toUpperCase() : text)

const percentEncoded: Encode = (text, chosen) =>
  characters(text, (character) =>
    /[%+]/.test(character) || chosen()
      ? bytesOf(character, (byte) => `%${cased(byte, chosen())}`)
      : character,
  )
const formEncoded: Encode = (text, chosen) =>
  characters(text, (character) => (character === " " ? "+" : percentEncoded(character, chosen)))
const jsonEncoded: Encode = (text, chosen) =>
  text.replace(/[\s\S]/g, (unit) => {
    if (unit === "/" && chosen()) return "\\/"
    if (!chosen()) return JSON.stringify(unit).slice(1, -1)
    return `\\u${cased(unit.charCodeAt(0).toString(16).padStart(4, "0"), chosen())}`
  })
const entityNames: Record<string, string> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos" }
const entityEncoded: Encode = (text, chosen) =>
  characters(text, (character) => {
    const name = entityNames[character]
    if (name !== undefined && chosen()) return `&${name};`
    if (character !== "&" && chosen()) return character
    const code = character.codePointAt(0)!
    return chosen() ? `&#${code};` : `&#x${cased(code.toString(16), chosen())};`
  })
const wrapped = (text: string, { columns, by }: { columns: number; by: string }) =>
  (text.match(new RegExp(`.{1,${columns}}`, "g")) ?? []).join(by)
const base64 =
  (name: "base64" | "base64url", wrap: { columns: number; by: string }): Encode =>
  (text) =>
    wrapped(Buffer.from(text).toString(name), wrap)
const hexEncoded =
  (wrap: { columns: number; by: string }): Encode =>
  (text, chosen) =>
    wrapped(cased(Buffer.from(text).toString("hex"), chosen()), wrap)

const asPercent = (text: string) => decodeURIComponent(text)
const asForm = (text: string) => decodeURIComponent(text.replaceAll("+", " "))
const asJson = (text: string) => JSON.parse(`"${text}"`) as string
const asEntities = (text: string) =>
  text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, (_, decimal, hexadecimal, name) =>
    name === undefined
      ? String.fromCodePoint(decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal))
      : Object.keys(entityNames).find((character) => entityNames[character] === name)!,
  )
/** Decodes the rest of base64 or hex from each possible digit, because the start of a group is not known. */
const asBytes = (name: "base64" | "hex") => (text: string) =>
  text
    .split("[redacted]")
    .map((rest) => rest.replace(/\s|\\[nr]/g, ""))
    .flatMap((rest) => [0, 1, 2, 3].map((at) => Buffer.from(rest.slice(at), name).toString()))
    .join("|")

const encodings: [name: string, encode: Encode, decode: (text: string) => string][] = [
  ["percents", percentEncoded, asPercent],
  [
    "percents of percents",
    (text, chosen) => percentEncoded(percentEncoded(text, chosen), chosen),
    (text) => asPercent(asPercent(text)),
  ],
  ["a form", formEncoded, asForm],
  ["JSON", jsonEncoded, asJson],
  [
    "JSON in JSON",
    (text, chosen) => jsonEncoded(jsonEncoded(text, chosen), chosen),
    (text) => asJson(asJson(text)),
  ],
  [
    "JSON in an address",
    (text, chosen) => percentEncoded(jsonEncoded(text, chosen), chosen),
    (text) => asJson(asPercent(text)),
  ],
  ["HTML", entityEncoded, asEntities],
  [
    "HTML in JSON",
    (text, chosen) => jsonEncoded(entityEncoded(text, chosen), chosen),
    (text) => asEntities(asJson(text)),
  ],
  [
    "JSON in HTML",
    (text, chosen) => entityEncoded(jsonEncoded(text, chosen), chosen),
    (text) => asJson(asEntities(text)),
  ],
  ["base64", base64("base64", { columns: 76, by: "\n" }), asBytes("base64")],
  ["base64 in a few columns", base64("base64", { columns: 3, by: "\r\n\t  " }), asBytes("base64")],
  ["base64 in JSON", base64("base64", { columns: 64, by: "\\r\\n" }), asBytes("base64")],
  ["base64 of addresses", base64("base64url", { columns: 1000, by: "" }), asBytes("base64")],
  ["hex", hexEncoded({ columns: 60, by: "\n" }), asBytes("hex")],
  ["hex in pairs", hexEncoded({ columns: 4, by: " " }), asBytes("hex")],
]

describe("known values that are encoded", () => {
  const value = `pa/ss+&<w>"o'r\\d ~!%é中😀-0`
  const known = createSharedMask({ values: [value], paths: [] })
  const always = () => true
  const never = () => false
  const inTurn = () => {
    let count = 0
    return () => count++ % 3 > 0
  }
  const whole = Buffer.from(value).toString("base64")
  const mac = (text: string, by: string) => wrapped(text, { columns: 8, by })

  test.each(encodings)("%s", (_, encode, decode) => {
    for (const chosen of [always, never, inTurn()]) {
      const [shown] = known([encode(`before ${value} after`, chosen)])
      const read = decode(shown!)
      expect(shown).toContain("[redacted]")
      for (const part of ["pa/", "ss+", "w>", "r\\d", "~!%", "é", "中", "😀", "-0"]) {
        expect(read).not.toContain(part)
      }
      expect(read).toMatch(/^befor/)
      expect(read).toMatch(/fter/)
    }
  })

  test.each<[what: string, encoded: string]>([
    ["lower-case hex", encodeURIComponent(value).toLowerCase().replace("%c3%a9", "%C3%a9")],
    [
      "all that may be encoded",
      encodeURIComponent(value).replaceAll("~", "%7E").replaceAll("!", "%21").replaceAll("'", "%27"),
    ],
    ["slashes left", encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("%2B", "+")],
    ["a form", encodeURIComponent(value).replaceAll("%20", "+")],
    ["an address in an address", encodeURIComponent(encodeURIComponent(value))],
    ["JSON", JSON.stringify(value).slice(1, -1)],
    [
      "JSON of PHP",
      JSON.stringify(value)
        .slice(1, -1)
        .replaceAll("/", "\\/")
        .replace("é", "\\u00e9")
        .replace("中", "\\u4E2D"),
    ],
    [
      "JSON of Go",
      JSON.stringify(value)
        .slice(1, -1)
        .replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003E"),
    ],
    [
      "JSON of Python",
      JSON.stringify(value)
        .slice(1, -1)
        .replace("é", "\\u00e9")
        .replace("中", "\\u4e2d")
        .replace("😀", "\\ud83d\\ude00"),
    ],
    ["JSON in JSON", JSON.stringify(JSON.stringify(value).replaceAll("/", "\\/")).slice(3, -3)],
    ["Markdown", value.replace(/[\\<>~!+&]/g, "\\$&")],
    ["HTML", value.replaceAll("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")],
    ["HTML with quotes", value.replaceAll("&", "&amp;").replace("'", "&#39;").replace('"', "&#34;")],
    ["HTML with hex", value.replaceAll("&", "&#x26;").replace("'", "&#x27;").replace("/", "&#x2F;")],
    ["HTML of PHP", value.replaceAll("&", "&amp;").replace("'", "&#039;").replace("😀", "&#128512;")],
    ["XML", value.replaceAll("&", "&amp;").replace("'", "&apos;").replace("<", "&lt;")],
    ["base64", whole],
    ["base64 without its end", whole.replace(/=+$/, "")],
    ["base64 on lines", mac(whole, "\n")],
    ["base64 on lines of Windows", mac(whole, "\r\n")],
    ["base64 on lines with room", mac(whole, "\n    ")],
    ["base64 on lines in JSON", mac(whole, "\\n")],
    ["base64 on lines in JSON in JSON", mac(whole, "\\\\r\\\\n")],
    ["base64 in an address", encodeURIComponent(mac(whole, "\r\n"))],
    ["base64 in JSON of PHP", whole.replaceAll("/", "\\/")],
    ["base64 in JSON of .NET", mac(whole, "\n").replaceAll("+", "\\u002B")],
    ["base64 in HTML", whole.replaceAll("+", "&#43;").replaceAll("/", "&#x2F;")],
    ["base64 of addresses", Buffer.from(value).toString("base64url")],
    ["hex", Buffer.from(value).toString("hex")],
    ["hex in capitals", Buffer.from(value).toString("hex").toUpperCase()],
    ["hex on lines", mac(Buffer.from(value).toString("hex"), "\n")],
  ])("%s, without the text around it", (_, encoded) => {
    expect(known([`one: ${encoded}, two`])).toEqual(["one: [redacted], two"])
    expect(known([`"${encoded}"`])).toEqual(['"[redacted]"'])
    expect(known([`a\n${encoded}\n\nb`])).toEqual(["a\n[redacted]\n\nb"])
    expect(known([`100% &c. \\d ${encoded} %zz &amp; \\n`])).toEqual([
      "100% &c. \\d [redacted] %zz &amp; \\n",
    ])
    const half = Math.floor(encoded.length / 2)
    expect(known([`x ${encoded.slice(0, half)}`, `${encoded.slice(half)} y`])).toEqual(["x [redacted]", " y"])
  })

  test("in base64 with other bytes, digits that share bits with the value are masked too", () => {
    for (const before of ["", "a", "ab", "abc"]) {
      const [shown] = known([`x ${Buffer.from(`${before}${value}`).toString("base64")} y`])
      expect(shown).toMatch(/^x (?:YWJj|Y?W?)\[redacted\] y$/)
    }
  })

  test("in base64 of JSON, the JSON form of the value is found", () => {
    const json = JSON.stringify({ user: "jane", secret: value })
    const [shown] = known([Buffer.from(json).toString("base64")])
    expect(asBytes("base64")(shown!)).toMatch(/^{"user":"jane","secret":/)
    expect(asBytes("base64")(shown!)).not.toMatch(/ss|rd|~!/)
  })

  test("a short value with a digit is found only literally", () => {
    expect(createSharedMask({ values: ["a1b", "abc"], paths: [] })(["abc a1b a%31b"])).toEqual([
      "abc [redacted] a%31b",
    ])
  })

  test("a text with only a part of the value stays", () => {
    const texts = [
      encodeURIComponent(value.slice(0, -2)),
      whole.slice(0, 20),
      "pa/ss &amp; %77 \\u0026 words\non lines",
      value.toUpperCase(),
    ]
    expect(known(texts)).toEqual(texts)
  })

  test("a repeated value is masked in a long text", () => {
    const text = `${encodeURIComponent(value)} `.repeat(20_000)
    expect(known([text, text]).join("")).toBe("[redacted] ".repeat(40_000))
  })

  test("values on separate lines are masked separately", () => {
    expect(known([`a: ${whole}\n   ${whole}\nb`])).toEqual(["a: [redacted]\n   [redacted]\nb"])
  })

  test("overlapping occurrences of a value are masked as one", () => {
    const tail = createSharedMask({ values: ["abcabc1abc"], paths: [] })
    expect(tail(["abcabc1abcabc1abc."])).toEqual(["[redacted]."])
  })

  test("no encoding of a text shows a value", () => {
    const unit = fc.oneof(
      fc.constantFrom(..."/+&<>\"'\\ ~!%=\n"),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
      fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 1 }),
    )
    const text = fc.array(unit, { maxLength: 40 }).map((units) => units.join(""))
    fc.assert(
      fc.property(
        fc.array(unit, { minLength: 8, maxLength: 40 }).map((units) => units.join("")),
        text,
        text,
        fc.constantFrom(...encodings),
        fc.infiniteStream(fc.boolean()),
        (secret, before, after, [, encode, decode], choices) => {
          const chosen = () => choices.next().value!
          const encoded = encode(before + secret + after, chosen)
          const [shown] = createSharedMask({ values: [secret], paths: [] })([encoded])
          expect(shown).toContain("[redacted]")
          expect(decode(shown!)).not.toContain(secret)
        },
      ),
      { numRuns: 1000 },
    )
  })
})
