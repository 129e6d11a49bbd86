import { expect, test } from "vitest"
import { createScriptedModel, openStemma } from "../../src/index.ts"
import { prepareFirstTurn } from "../../src/run/index.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

/** A Stemma whose requests and models are counted. */
async function counted(config: object) {
  const directory = await temporaryDirectory()
  const made: string[] = []
  let requests = 0
  const stemma = await openStemma({
    directory: directory.path,
    data: directory.path,
    store: { driver: "memory" },
    env: { HOME: directory.path },
    config,
    models: {
      mine: (modelID) => {
        made.push(modelID)
        return createScriptedModel([{ text: "Oolong." }])
      },
    },
    fetch: async () => {
      requests++
      throw new Error("There is no network.")
    },
  })
  return {
    stemma,
    made,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      await stemma.close()
      await directory[Symbol.asyncDispose]()
    },
  }
}

test("makes the model of the config before the first turn, and sends no request", async () => {
  await using at = await counted({ model: "mine/m1", title: false })
  await prepareFirstTurn(await at.stemma.project())
  expect(at.made).toEqual(["m1"])
  const session = await at.stemma.sessions.create()
  expect((await session.prompt("which tea?")).text).toBe("Oolong.")
  expect({ made: at.made, requests: at.requests() }).toEqual({ made: ["m1"], requests: 0 })
})

test("does not look for Ollama, which may start after the server", async () => {
  await using at = await counted({})
  const project = await at.stemma.project()
  await prepareFirstTurn(project)
  expect(at.requests()).toBe(0)
  await (await project.setup()).models.standard()
  expect(at.requests()).toBe(1)
})

test("fails for a model that cannot be used, and the first turn then says why", async () => {
  await using at = await counted({ model: "anthropic/claude", title: false })
  const project = await at.stemma.project()
  await expect(prepareFirstTurn(project)).rejects.toThrow("ANTHROPIC_API_KEY")
  const { error } = await (await at.stemma.sessions.create()).prompt("which tea?")
  expect(JSON.stringify(error)).toContain("ANTHROPIC_API_KEY")
})
