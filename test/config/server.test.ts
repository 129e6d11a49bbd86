import { describe, expect, test } from "vitest"
import { readServerConfig } from "../../src/config/server-config.ts"
import { rejection } from "../support/rejection.ts"
import { configScene } from "./config-scene.ts"

const mine = {
  publicUrl: "https://stemma.example.org",
  hosts: ["stemma.lan"],
  origins: ["https://app.example.org"],
}

describe("`server` in the config", () => {
  test("is read from the user's config, and is available without a project", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": { server: { ...mine, publicUrl: "{env:ADDRESS}" } } })
    const env = { ADDRESS: mine.publicUrl }
    expect((await at.open({ env }).current()).config.server).toEqual(mine)
    expect(await readServerConfig({ configDirectory: at.user, env })).toEqual({ server: mine, notices: [] })
  })

  test.each(["not trusted", "trusted"])(
    "is ignored in a project that is %s, with a notice",
    async (trust) => {
      await using at = await configScene()
      await at.write({
        "user/stemma.json": { server: mine },
        "project/stemma.json": { server: { hosts: ["evil.example"] }, title: false },
      })
      const source = at.open()
      if (trust === "trusted") {
        expect((await source.pending())!.grants).toEqual(["It sets title to false."])
        await source.trust()
      }
      const { config, notices } = await source.current()
      expect(config.server).toEqual(mine)
      expect(config.title).toBe(trust !== "trusted")
      expect(notices).toContainEqual(
        expect.stringMatching(/stemma\.json: server was ignored: only your own config file can set it/),
      )
    },
  )

  test.each([
    { publicUrl: "stemma.example.org" },
    { publicUrl: "javascript:alert(1)" },
    { hosts: ["https://stemma.example.org"] },
    { hosts: ["a/b"] },
    { origins: ["*"] },
    { origins: ["https://app.example.org/path"] },
  ])("%j is refused with file, line and column", async (server) => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": { server } })
    const error = await rejection(readServerConfig({ configDirectory: at.user, env: {} }))
    expect(error).toMatchObject({
      code: "invalid",
      message: expect.stringMatching(/stemma\.json:\d+:\d+: server\.\w+(\.0)?: expected/),
    })
  })

  test("the token of the environment is a secret like an API key", async () => {
    await using at = await configScene()
    const { secrets } = await at.open({ env: { STEMMA_TOKEN: "0123456789abcdef" } }).current()
    expect(secrets).toEqual(["0123456789abcdef"])
  })
})
