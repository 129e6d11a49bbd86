import { describe, expect, test } from "vitest"
import type { Session } from "../../src/protocol/index.ts"
import { SharePreview } from "../../src/protocol/routes/share-shapes.ts"
import { httpScene } from "../support/server/http-scene.ts"
import { ask, readShared, share, textsOf } from "../support/server/share-scene.ts"

const password = "granite-7341"
const key = `ghp_${"aB3dE5fGh7JkL9mNpQ2r".repeat(2).slice(0, 36)}`

describe("the preview of a shared page", () => {
  test("has what the page would show and what is masked where, and publishes nothing", async () => {
    await using scene = await httpScene({ script: [{ text: `Run mysql -p'${password}' shop with ${key}` }] })
    const { id } = await scene.json<Session>("/sessions", { json: { title: `The password is ${password}` } })
    await ask(scene, id, `the password is ${password}, and again: the password is ${password}`)
    const preview = await scene.json<SharePreview>(`/sessions/${id}/share/preview`)
    expect(SharePreview.parse(preview)).toEqual(preview)
    expect(preview.session.title).toBe("The password is [redacted]")
    expect(textsOf(preview.messages)).toEqual([
      "the password is [redacted], and again: the password is [redacted]",
      "Run mysql -p'[redacted]' shop with [redacted]",
    ])
    const [first, second] = preview.messages
    const inFirst = { messageID: first!.id, position: first!.position }
    const inSecond = { messageID: second!.id, position: second!.position }
    expect(preview.masked).toHaveLength(4)
    expect(preview.masked).toEqual(
      expect.arrayContaining([
        { kind: "secret in a sentence", count: 1 },
        { kind: "secret in a sentence", count: 2, ...inFirst },
        { kind: "password in a command", count: 1, ...inSecond },
        { kind: "key of a service", count: 1, ...inSecond },
      ]),
    )
    for (const secret of [password, key]) expect(JSON.stringify(preview)).not.toContain(secret)
    expect((await scene.json<Session>(`/sessions/${id}`)).share).toBeUndefined()
    const { session, messages } = await readShared(scene, await share(scene, id))
    expect({ session, messages }).toEqual({ session: preview.session, messages: preview.messages })
  })

  test("includes tools and reasoning only on request, and needs the token", async () => {
    await using scene = await httpScene({
      script: [
        { reasoning: "thinking aloud", calls: [{ tool: "read", input: { filePath: "notes.txt" } }] },
        { text: "done" },
      ],
      files: { "notes.txt": `DB_PASSWORD=${password}\n` },
    })
    const { id } = await scene.json<Session>("/sessions", { json: {} })
    await ask(scene, id, "read it")
    const plain = await scene.json<SharePreview>(`/sessions/${id}/share/preview`)
    expect(plain.masked).toEqual([])
    expect(JSON.stringify(plain)).not.toMatch(/thinking aloud|DB_PASSWORD/)
    const whole = await scene.json<SharePreview>(`/sessions/${id}/share/preview?tools=true&reasoning=true`)
    expect(JSON.stringify(whole)).toMatch(/thinking aloud.*DB_PASSWORD=\[redacted\]/s)
    expect(whole.masked).toContainEqual(
      expect.objectContaining({ kind: "value behind a secret name", count: 1 }),
    )
    expect((await fetch(`${scene.url}/sessions/${id}/share/preview`)).status).toBe(401)
  })

  test("is refused where sharing is", async () => {
    await using scene = await httpScene({ files: { "stemma.json": JSON.stringify({ share: "disabled" }) } })
    const { id } = await scene.json<Session>("/sessions", { json: {} })
    const refused = await scene.call(`/sessions/${id}/share/preview`)
    expect(refused.status).toBe(403)
    expect(await refused.json()).toMatchObject({ code: "denied" })
    const missing = await scene.call("/sessions/ses_01jd0c7q5x3v9k2m4n6p8r0s1t/share/preview")
    expect(missing.status).toBe(404)
  })

  test("has pages as the page does", async () => {
    await using scene = await httpScene()
    const session = await scene.stemma.sessions.create()
    for (let at = 0; at < 210; at++) await session.append({ role: "user", text: `pw: ${password} ${at}` })
    const newest = await scene.json<SharePreview>(`/sessions/${session.id}/share/preview`)
    expect(newest.messages).toHaveLength(200)
    expect(newest.masked).toHaveLength(200)
    const first = await scene.json<SharePreview>(
      `/sessions/${session.id}/share/preview?before=${newest.earlier}`,
    )
    expect(first.messages).toHaveLength(10)
    expect(first.earlier).toBeUndefined()
    expect(first.masked.map(({ position }) => position)).toEqual(Array.from({ length: 10 }, (_, at) => at))
  })
})
