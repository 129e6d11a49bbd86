import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createID, openStore, type PermissionRequest, type Stemma } from "../../src/index.ts"
import { storeWith } from "../support/run/store-with.ts"
import { runScene } from "../support/run-scene.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

/** A permission question as a run writes it. */
async function ask(stemma: Stemma, sessionID: string): Promise<PermissionRequest> {
  const request: PermissionRequest = {
    id: createID("permission", Date.now()),
    sessionID,
    permission: "bash",
    patterns: ["ls"],
    always: [],
    metadata: {},
    time: { created: Date.now() },
  }
  await stemma.store.commit({ ops: [{ op: "permission.put", request }] })
  return request
}

test("open questions can be listed for a session with its descendants, for a directory, or for all", async () => {
  await using scene = await runScene()
  const { sessions, permissions } = scene.stemma
  const elsewhere = join(scene.directory, "elsewhere")
  await mkdir(elsewhere)
  const root = await sessions.create()
  const child = await sessions.create({ parentID: root.id })
  const grandchild = await sessions.create({ parentID: child.id })
  const other = await sessions.create({ directory: elsewhere })
  const first = await ask(scene.stemma, grandchild.id)
  const second = await ask(scene.stemma, other.id)
  const third = await ask(scene.stemma, root.id)
  expect(await permissions.open()).toEqual([first, second, third])
  expect(await permissions.open(root.id)).toEqual([first, third])
  expect(await root.questions()).toEqual([first, third])
  expect(await permissions.open(child.id)).toEqual([first])
  const { directory } = await other.info()
  expect(await permissions.open(undefined, { directory })).toEqual([second])
  expect(await permissions.open(root.id, { directory })).toEqual([])
  await expect(permissions.open("ses_nobody")).rejects.toMatchObject({ code: "not_found" })
})

test("a question can be read by its id, answered or not", async () => {
  await using scene = await runScene()
  const { sessions, permissions, store } = scene.stemma
  const session = await sessions.create()
  const question = await ask(scene.stemma, session.id)
  expect(await permissions.find(question.id)).toEqual(question)
  const answered = { ...question, reply: "once" as const }
  await store.commit({ ops: [{ op: "permission.put", request: answered }] })
  expect(await permissions.find(question.id)).toEqual(answered)
  await expect(permissions.reply(session.id, question.id, { reply: "once" })).rejects.toMatchObject({
    code: "conflict",
  })
  await expect(permissions.find("per_nobody")).rejects.toMatchObject({ code: "not_found" })
})

test("a second answer is a conflict with the first one, also while the first one is in the inbox", async () => {
  await using scene = await runScene()
  const { sessions, permissions, store } = scene.stemma
  const session = await sessions.create()
  const question = await ask(scene.stemma, session.id)
  await permissions.reply(session.id, question.id, { reply: "once" })
  const refused = {
    code: "conflict",
    message: `The question ${question.id} has already been answered: once.`,
  }
  const second = () => permissions.reply(session.id, question.id, { reply: "reject" })
  await expect(second()).rejects.toMatchObject(refused)
  expect(await store.inbox(session.id)).toMatchObject([{ type: "answer", reply: "once" }])
  await store.commit({ ops: [{ op: "permission.put", request: { ...question, reply: "once" } }] })
  await expect(second()).rejects.toMatchObject(refused)
})

test("an answer through a session reaches a question of its descendant, and of no other session", async () => {
  await using directory = await temporaryDirectory()
  await using store = await openStore({ path: join(directory.path, "stemma.db") })
  const asked: unknown[] = []
  const watched = storeWith(store, {
    permissions: async (query) => {
      asked.push(query)
      return store.permissions(query)
    },
    tree: () => Promise.reject(new Error("The whole tree is not needed.")),
  })
  await using scene = await runScene({ store: watched })
  const { sessions, permissions } = scene.stemma
  const root = await sessions.create()
  const child = await sessions.create({ parentID: root.id })
  const stranger = await sessions.create()
  const question = await ask(scene.stemma, child.id)
  for (const { id } of [stranger, await sessions.create({ parentID: child.id })]) {
    await expect(permissions.reply(id, question.id, { reply: "once" })).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining(question.id),
    })
  }
  await expect(permissions.reply("ses_nobody", question.id, { reply: "once" })).rejects.toMatchObject({
    code: "not_found",
    message: expect.stringContaining("ses_nobody"),
  })
  expect(await store.inbox(child.id)).toEqual([])
  await permissions.reply(root.id, question.id, { reply: "once" })
  expect(await store.inbox(child.id)).toMatchObject([{ type: "answer", permissionID: question.id }])
  // Each query of the store names the question.
  expect(asked.length).toBeGreaterThan(0)
  for (const query of asked) expect(query).toMatchObject({ permissionID: question.id })
})
