import { randomBytes } from "node:crypto"
import { expect, test } from "vitest"
import { runScene } from "../support/run-scene.ts"

const makeShare = () => {
  const secret = randomBytes(24).toString("base64url")
  return { url: `https://example.org/share/${secret}`, secret }
}

test("a shared session can be found by its secret until it is unshared", async () => {
  await using scene = await runScene({ script: [{ text: "Hello." }] })
  const { sessions, store } = scene.stemma
  const session = await sessions.create()
  await session.prompt("Hi")
  const share = { ...makeShare(), include: { tools: true } }
  const found = async () => (await sessions.list({ share: share.secret })).items.map(({ id }) => id)
  expect(await found()).toEqual([])
  expect((await sessions.share(session.id, share)).share).toEqual(share)
  expect(await found()).toEqual([session.id])
  const other = await scene.again()
  expect((await other.sessions.list({ share: share.secret })).items).toMatchObject([{ id: session.id }])

  const fork = await sessions.fork(session.id)
  expect((await fork.info()).share).toBeUndefined()
  expect(await session.transcript()).not.toContain(share.secret)
  expect(await session.text()).not.toContain(share.secret)

  const next = makeShare()
  await sessions.share(session.id, next)
  expect(await found()).toEqual([])
  expect((await session.info()).share).toEqual(next)
  expect((await sessions.unshare(session.id)).share).toBeUndefined()
  expect((await store.sessions({ share: next.secret })).items).toEqual([])
  expect((await sessions.unshare(session.id)).share).toBeUndefined()
})

test("a child cannot be shared on its own, and updating other fields cannot share it", async () => {
  await using scene = await runScene()
  const { sessions } = scene.stemma
  const root = await sessions.create()
  const child = await sessions.create({ parentID: root.id })
  await expect(sessions.share(child.id, makeShare())).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("root"),
  })
  await expect(sessions.update(root.id, { share: makeShare() } as never)).rejects.toMatchObject({
    code: "invalid",
  })
  await expect(sessions.create({ share: makeShare() } as never)).rejects.toMatchObject({ code: "invalid" })
  for (const { id } of [root, child]) expect((await scene.stemma.store.session(id)).share).toBeUndefined()
  await expect(sessions.share("ses_nobody", makeShare())).rejects.toMatchObject({ code: "not_found" })
  await expect(sessions.unshare("ses_nobody")).rejects.toMatchObject({ code: "not_found" })
})

test("if the config disables sharing, sharing is denied, and a shared session can still be unshared", async () => {
  await using scene = await runScene()
  const session = await scene.stemma.sessions.create()
  const share = makeShare()
  await scene.stemma.sessions.share(session.id, share)
  const strict = await scene.again({ config: { share: "disabled" } })
  await expect(strict.sessions.share(session.id, makeShare())).rejects.toMatchObject({ code: "denied" })
  expect((await session.info()).share).toEqual(share)
  expect((await strict.sessions.unshare(session.id)).share).toBeUndefined()
})

test("two sessions cannot have the same secret", async () => {
  await using scene = await runScene()
  const { sessions } = scene.stemma
  const [one, two] = [await sessions.create(), await sessions.create()]
  const share = makeShare()
  await sessions.share(one.id, share)
  await sessions.share(one.id, share)
  const refused = sessions.share(two.id, share)
  await expect(refused).rejects.toMatchObject({ code: "conflict" })
  await refused.catch(({ message }: Error) => expect(message).not.toContain(share.secret))
})
