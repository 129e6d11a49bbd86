import { globSync, readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { createSharedMask } from "../../src/server/share/mask/mask-shared.ts"
import { until } from "../support/run-scene.ts"
import { harmlessTexts } from "../support/secrets/harmless.ts"
import { plantedSecrets } from "../support/secrets/planted.ts"
import { repeats, testSeed } from "../support/seed.ts"
import { httpScene } from "../support/server/http-scene.ts"
import { ask, followShared, readShared, share, textsOf } from "../support/server/share-scene.ts"

const { seed } = testSeed("planted secrets")
const planted = plantedSecrets(seed)

describe("planted secrets", () => {
  test.each(planted)("a shared page shows none of %s", async (_, all) => {
    await using scene = await httpScene()
    const session = await scene.stemma.sessions.create()
    for (const { text } of all) await session.append({ role: "user", text })
    const path = await share(scene, session.id)
    const shown = new Map<number, string>()
    let before: number | undefined
    do {
      const page = await readShared(scene, path, before === undefined ? "" : `?before=${before}`)
      for (const message of page.messages) shown.set(message.position, textsOf([message]).join("\n"))
      before = page.earlier
    } while (before !== undefined)
    expect(shown.size).toBe(all.length)
    expect(all.filter(({ secret }, at) => shown.get(at)!.includes(secret))).toEqual([])
  })

  test("there are far more than the 266 of the first trial", () => {
    expect(planted.flatMap(([, all]) => all).length).toBeGreaterThan(1000)
    for (const [, all] of planted) for (const { text, secret } of all) expect(text).toContain(secret)
  })

  test("no seed shows one", () => {
    const mask = createSharedMask({ values: [], paths: [] })
    for (let at = 1; at <= repeats({ test: 3, soak: 100 }); at++) {
      const all = plantedSecrets(seed + at).flatMap(([, one]) => one)
      expect(all.filter(({ text, secret }) => mask([text])[0]!.includes(secret))).toEqual([])
    }
  })

  test("a reader who follows the page sees none of a text that streams in small deltas", async () => {
    const texts = [
      "Run mysql -uroot -p'granite-7341' shop",
      "the password is tundra9921.",
      "密码是 falcon8832。",
    ]
    const secrets = ["granite-7341", "tundra9921", "falcon8832"]
    const deltas = texts.join("\n").match(/[\s\S]{1,3}/g)!
    await using scene = await httpScene({ script: [{ text: deltas }] })
    const session = await scene.stemma.sessions.create()
    using reader = await followShared(scene, await share(scene, session.id))
    await ask(scene, session.id, "go")
    await until("the answer is shown", () => textsOf(reader.messages).length === 2)
    for (const secret of secrets) expect(reader.raw).not.toContain(secret)
    expect(textsOf(reader.messages)[1]).toContain("Run mysql -uroot -p'[redacted]' shop")
  })
})

describe("texts that only look like secrets", () => {
  const mask = createSharedMask({ values: [], paths: [] })
  const harmless = harmlessTexts(seed)

  test("at most 1 in 100 is masked", () => {
    const texts = harmless.flatMap(([, all]) => all)
    const masked = texts.filter((text) => mask([text])[0] !== text)
    expect(texts.length).toBeGreaterThan(280)
    expect(masked.length / texts.length, masked.join("\n")).toBeLessThanOrEqual(0.01)
  })

  test.each(harmless)("of %s, at most 1 in 25 is masked", (_, texts) => {
    const masked = texts.filter((text) => mask([text])[0] !== text)
    expect(masked.length / texts.length, masked.join("\n")).toBeLessThanOrEqual(0.04)
  })

  test("of the documents and the sources of Stemma, at most 1 place in 1,000 lines is masked", () => {
    const files = globSync(["docs/**/*.md", "src/{run,server,config,session}/**/*.ts"]).filter(
      (path) => !path.endsWith(".test.ts") && !path.includes("share/mask/secrets"),
    )
    const counts = files.map((path) => {
      const text = readFileSync(path, "utf8")
      const places = mask([text])[0]!.split("[redacted]").length - text.split("[redacted]").length
      return { path, places, lines: text.split("\n").length }
    })
    const sum = (of: "places" | "lines") => counts.reduce((all, count) => all + count[of], 0)
    const found = counts.filter(({ places }) => places > 0)
    expect(sum("places") / sum("lines"), JSON.stringify(found)).toBeLessThanOrEqual(0.001)
  })
})
