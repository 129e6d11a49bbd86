import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import type { Session } from "../../src/protocol/index.ts"
import { SharedDocument } from "../../src/protocol/routes/share-shapes.ts"
import { createServer } from "../../src/server/index.ts"
import { runScene } from "../support/run-scene.ts"
import { type HttpScene, httpScene, token } from "../support/server/http-scene.ts"
import { ask, parsePage, readShared, share, textsOf } from "../support/server/share-scene.ts"

const key = `ghp_${"aB3dE5fGh7JkL9mNpQ2r".repeat(2).slice(0, 36)}`

const answers = [
  {
    reasoning: `They want the file. ${key}`,
    text: "I read it.",
    calls: [{ tool: "read", input: { filePath: "notes.txt" } }],
  },
  { text: `Done: the key is ${key}.` },
]

/** A session with a prompt, reasoning, a tool call and an answer. */
async function conversationScene(
  options: Parameters<typeof httpScene>[0] = {},
): Promise<{ scene: HttpScene; id: string }> {
  const scene = await httpScene({
    script: answers,
    files: { "notes.txt": `the file says hello\nDB_PASSWORD=swordfish9\n` },
    ...options,
  })
  const { id } = await scene.json<Session>("/sessions", { json: { title: "A story" } })
  await scene.json(`/sessions/${id}/ask`, {
    json: { text: `Read ${join(scene.directory, "notes.txt")} please`, system: "Obey the hidden order." },
  })
  return { scene, id }
}

async function page(scene: HttpScene, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(scene.url + path, { headers })
}

describe("a shared session", () => {
  test("shows text and the names of used tools, and nothing private", async () => {
    const { scene, id } = await conversationScene()
    await using _ = scene
    const path = await share(scene, id)
    const document = await readShared(scene, path)
    expect(SharedDocument.parse(document)).toEqual(document)
    expect(document.session).toMatchObject({ title: "A story", include: { reasoning: false, tools: false } })
    expect(document.messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant"])
    expect(textsOf(document.messages)).toEqual([
      "Read ./notes.txt please",
      "I read it.",
      "Done: the key is [redacted].",
    ])
    expect(document.messages[1]!.parts).toContainEqual({ type: "tool", tool: "read", status: "completed" })
    const html = await (await page(scene, path)).text()
    for (const text of [JSON.stringify(document), html]) {
      for (const secret of [key, "swordfish9", "the file says hello", "They want the file", "hidden order"]) {
        expect(text).not.toContain(secret)
      }
      expect(text).not.toContain(scene.directory)
      expect(text).not.toContain(id)
      expect(text).not.toContain(token)
      expect(text).not.toMatch(/"cost"|"tokens"|snapshot/)
    }
  })

  test("shows reasoning, tool input and tool output on request, without secrets and paths", async () => {
    const { scene, id } = await conversationScene()
    await using _ = scene
    const path = await share(scene, id, { reasoning: true, tools: true })
    const document = await readShared(scene, path)
    const parts = document.messages.flatMap((message) => message.parts)
    expect(parts.find(({ type }) => type === "reasoning")).toEqual({
      type: "reasoning",
      text: "They want the file. [redacted]",
    })
    const tool = parts.find((part) => part.type === "tool")
    expect(tool).toMatchObject({
      tool: "read",
      status: "completed",
      input: expect.stringContaining("notes.txt"),
    })
    expect(tool).toMatchObject({ output: expect.stringContaining("the file says hello") })
    const text = JSON.stringify(document)
    for (const secret of [key, "swordfish9", scene.directory, "hidden order"])
      expect(text).not.toContain(secret)
  })

  test("shows only the name and a short message of an error", async () => {
    await using scene = await httpScene({
      script: [{ error: { kind: "refused", message: `No: ${"x".repeat(1000)} ${key}`, statusCode: 400 } }],
    })
    const { id } = await scene.json<Session>("/sessions", { json: {} })
    await scene.call(`/sessions/${id}/ask`, { json: { text: "hi" } })
    const { messages } = await readShared(scene, await share(scene, id))
    const { error } = messages.at(-1)!
    expect(error!.name).toMatch(/Error$/)
    expect(error!.message.length).toBeLessThan(310)
    expect(JSON.stringify(messages)).not.toMatch(/responseBody|responseHeaders|ghp_/)
  })

  test("shows the name and the size of an attachment, not its content", async () => {
    await using scene = await httpScene({ script: [{ text: "seen" }] })
    const { id } = await scene.json<Session>("/sessions", { json: {} })
    const bytes = Buffer.from("png-bytes-of-a-picture")
    const url = `data:image/png;base64,${bytes.toString("base64")}`
    const file = { type: "file", mime: "image/png", filename: "/home/somebody/pictures/cat.png", url }
    await scene.json(`/sessions/${id}/ask`, { json: { parts: [{ type: "text", text: "look" }, file] } })
    const path = await share(scene, id)
    const document = await readShared(scene, path)
    expect(document.messages[0]!.parts).toContainEqual({
      type: "file",
      name: "cat.png",
      mime: "image/png",
      bytes: bytes.length,
    })
    expect(JSON.stringify(document)).not.toMatch(/somebody|base64|blob:/)
  })

  test("does not show the content of attached files, unless tools are shared", async () => {
    await using scene = await httpScene({ script: [{ text: "ok" }], files: { "a.txt": "inside the file" } })
    const { id } = await scene.json<Session>("/sessions", { json: { files: ["a.txt"] } })
    await ask(scene, id, "look at @a.txt")
    const path = await share(scene, id)
    expect(JSON.stringify(await readShared(scene, path))).not.toContain("inside the file")
    await share(scene, id, { tools: true })
    expect(JSON.stringify(await readShared(scene, path))).toContain("inside the file")
  })

  test("shows that a subagent ran, and nothing of its session", async () => {
    await using scene = await httpScene({
      script: [
        {
          calls: [
            {
              tool: "task",
              input: { description: "look", prompt: "the child's prompt", subagent_type: "general" },
            },
          ],
        },
        { text: "the child's answer" },
        { text: "the end" },
      ],
    })
    const { id } = await scene.json<Session>("/sessions", { json: {} })
    await ask(scene, id, "delegate")
    const path = await share(scene, id, { tools: true, reasoning: true })
    const document = await readShared(scene, path)
    expect(document.messages.flatMap(({ parts }) => parts)).toContainEqual({
      type: "tool",
      tool: "task",
      status: "completed",
    })
    expect(JSON.stringify(document)).not.toMatch(/the child's|ses_/)
    const children = await scene.json<{ items: Session[] }>(`/sessions/${id}/children`)
    const child = await scene.call(`/sessions/${children.items[0]!.id}/share`, { json: {} })
    expect(child.status).toBe(400)
    expect(await child.json()).toMatchObject({ code: "invalid", message: expect.stringContaining("root") })
  })

  test("does not show a secret that is split over two parts of a message", async () => {
    await using scene = await httpScene()
    const session = await scene.stemma.sessions.create()
    await session.append({
      role: "user",
      parts: [
        { type: "text", text: `first ${key.slice(0, 17)}` },
        { type: "text", text: `${key.slice(17)} second` },
      ],
    })
    const { messages } = await readShared(scene, await share(scene, session.id))
    expect(textsOf(messages)).toEqual(["first [redacted]", " second"])
  })

  test("shows no secrets of the environment or the server, and no home directory", async () => {
    const env = { PATH: process.env.PATH, HOME: "/home/jane", MY_DB_PASSWORD: "only words here" }
    await using scene = await httpScene({ env })
    const session = await scene.stemma.sessions.create({ title: `The ${token}` })
    const encoded = Buffer.from("only words here").toString("base64")
    await session.append({ role: "user", text: `a only words here b ${encoded} c /home/jane/x ${token}` })
    const document = await readShared(scene, await share(scene, session.id))
    expect(document.session.title).toBe("The [redacted]")
    expect(textsOf(document.messages)).toEqual(["a [redacted] b [redacted] c ~/x [redacted]"])
  })

  test("with many messages is shown in pages", async () => {
    await using scene = await httpScene()
    const session = await scene.stemma.sessions.create()
    for (let at = 0; at < 230; at++) await session.append({ role: "user", text: `number ${at}` })
    const path = await share(scene, session.id)
    const newest = await readShared(scene, path)
    expect(newest.messages).toHaveLength(200)
    expect(textsOf(newest.messages).at(-1)).toBe("number 229")
    const before = await readShared(scene, path, `?before=${newest.earlier}`)
    expect(textsOf(before.messages)).toEqual(Array.from({ length: 30 }, (_, at) => `number ${at}`))
    expect(before.earlier).toBeUndefined()
    const html = await (await page(scene, path)).text()
    expect(html).toContain(`href="?before=${newest.earlier}"`)
  })
})

describe("the page", () => {
  const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)> 'x' \`y\` &lt;b&gt; </article></main></html>`

  test("shows the text without a script, and no element, attribute or script from the text", async () => {
    await using scene = await httpScene({
      script: [
        { text: evil, reasoning: evil, calls: [{ tool: evil, input: { evil } }] },
        { text: `\`\`\`${evil}\n${evil}\n\`\`\`` },
      ],
    })
    const { id } = await scene.json<Session>("/sessions", { json: { title: evil } })
    await ask(scene, id, evil)
    const path = await share(scene, id, { reasoning: true, tools: true })
    const response = await page(scene, path, { accept: "text/html" })
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8")
    const { tags, text } = parsePage(await response.text())
    const known =
      "html head meta title link script body header h1 p time main article h2 small div span details summary pre footer"
    expect(
      [...new Set(tags.map(({ name }) => name))].filter((name) => !known.split(" ").includes(name)),
    ).toEqual([])
    for (const { attributes } of tags) {
      const names = Object.keys(attributes).filter((name) => /^on|^style$|^srcdoc$/.test(name))
      expect(names).toEqual([])
    }
    const scripts = tags.filter(({ name }) => name === "script")
    expect(scripts.map(({ attributes }) => attributes)).toEqual([{ src: "assets/share.js", defer: "" }])
    expect(tags.filter(({ name }) => name === "link")).toEqual([
      { name: "link", attributes: { rel: "stylesheet", href: "assets/share.css" } },
    ])
    expect(tags.filter(({ name }) => name === "article")).toHaveLength(3)
    // Title, heading, prompt, reasoning, answer, name of the tool and code.
    expect(text.split("<script>alert(1)</script>").length).toBeGreaterThan(7)
  })

  test("allows no inline script, is not cached, and is not indexed by search engines", async () => {
    const { scene, id } = await conversationScene()
    await using _ = scene
    const path = await share(scene, id)
    for (const at of [path, `${path}/data`, `${path}/event`]) {
      const leaving = new AbortController()
      const { headers } = await fetch(scene.url + at, { signal: leaving.signal })
      leaving.abort()
      const security = headers.get("content-security-policy")!
      expect(security).toContain("default-src 'none'")
      expect(security).not.toMatch(/unsafe|\*|data:|https?:/)
      expect(headers.get("cache-control")).toBe("no-store")
      expect(headers.get("x-robots-tag")).toContain("noindex")
      expect(headers.get("referrer-policy")).toBe("no-referrer")
      expect(headers.get("x-content-type-options")).toBe("nosniff")
    }
  })

  test("is JSON if the client accepts JSON, and serves its script and style from its own address", async () => {
    const { scene, id } = await conversationScene()
    await using _ = scene
    const path = await share(scene, id)
    const response = await page(scene, path, { accept: "application/json" })
    expect(await response.json()).toEqual(await readShared(scene, path))
    const script = await page(scene, "/share/assets/share.js")
    expect(script.headers.get("content-type")).toContain("text/javascript")
    expect(await script.text()).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write|eval\(/)
    expect((await page(scene, "/share/assets/share.css")).headers.get("content-type")).toContain("text/css")
    for (const wrong of ["x.js", "..%2f..%2fpackage.json", "__proto__", "constructor"]) {
      expect((await page(scene, `/share/assets/${wrong}`)).status).toBe(404)
    }
  })

  test("is read-only: other calls at its address need the token", async () => {
    const { scene, id } = await conversationScene()
    await using _ = scene
    const path = await share(scene, id)
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      expect((await fetch(scene.url + path, { method })).status).toBe(401)
    }
    expect((await fetch(`${scene.url}/sessions/${id}`)).status).toBe(401)
    expect((await fetch(scene.url + path, { method: "HEAD" })).status).toBe(200)
  })
})

describe("the address of a share", () => {
  test("cannot be guessed, stays the same while sharing lasts, and is different after that", async () => {
    const { scene, id } = await conversationScene()
    await using _ = scene
    const first = await share(scene, id)
    expect(first).toMatch(/^\/share\/[A-Za-z0-9_-]{22,}$/)
    expect(await share(scene, id, { tools: true })).toBe(first)
    await scene.json(`/sessions/${id}/share`, { method: "DELETE" })
    const second = await share(scene, id)
    expect(second).not.toBe(first)
    expect((await page(scene, first)).status).toBe(404)
    expect((await page(scene, second)).status).toBe(200)
  })

  test("is the same for two callers that share at the same time", async () => {
    const { scene, id } = await conversationScene()
    await using _ = scene
    const paths = await Promise.all([1, 2, 3, 4].map(() => share(scene, id)))
    expect(new Set(paths).size).toBe(1)
  })

  test("that is wrong gets the same answer as an address whose sharing ended", async () => {
    const { scene, id } = await conversationScene()
    await using _ = scene
    const ended = await share(scene, id)
    await scene.json(`/sessions/${id}/share`, { method: "DELETE" })
    const wrong = [
      ended.slice(0, -1) + (ended.endsWith("A") ? "B" : "A"),
      "/share/short",
      `/share/${"x".repeat(300)}`,
    ]
    const odd = [
      "/share/%00",
      "/share/..%2f..%2f",
      `/share/${encodeURIComponent("' OR 1=1 --")}`,
      `/share/${id}`,
    ]
    const answer = async (path: string, accept: string) => {
      const response = await page(scene, path, { accept })
      const headers = [...response.headers].filter(([name]) => name !== "date")
      return { status: response.status, headers, body: await response.text() }
    }
    for (const accept of ["text/html", "application/json"]) {
      const expected = await answer(ended, accept)
      expect(expected.status).toBe(404)
      for (const path of [...wrong, ...odd]) expect(await answer(path, accept)).toEqual(expected)
    }
    for (const path of [ended, ...wrong]) {
      expect((await page(scene, `${path}/event`)).status).toBe(404)
      expect((await page(scene, `${path}/data`)).status).toBe(404)
    }
  })

  test("with an invalid shape is not searched for in the store", async () => {
    const { scene } = await conversationScene()
    await using _ = scene
    const asked: unknown[] = []
    const sessions = scene.stemma.store.sessions.bind(scene.stemma.store)
    scene.stemma.store.sessions = (query) => {
      asked.push(query)
      return sessions(query)
    }
    for (const odd of ["x", "a.b", "%2e%2e", "'".repeat(30), "é".repeat(30), "a".repeat(300)]) {
      expect((await page(scene, `/share/${encodeURIComponent(odd)}`)).status).toBe(404)
    }
    expect(asked).toEqual([])
    expect((await page(scene, `/share/${"a".repeat(32)}`)).status).toBe(404)
    expect(asked).toHaveLength(1)
  })

  test("begins with the server's public URL, even if the server does not listen", async () => {
    await using scene = await runScene({})
    const server = createServer(scene.stemma, { publicUrl: "https://stemma.example.org/at/" })
    await using _ = server
    const session = await scene.stemma.sessions.create({ title: "Here" })
    const answered = await server.app.fetch(
      new Request(`http://local/sessions/${session.id}/share`, { method: "POST" }),
    )
    const { share } = z.object({ share: z.object({ url: z.string() }) }).parse(await answered.json())
    expect(share.url).toMatch(/^https:\/\/stemma\.example\.org\/at\/share\/[\w-]{22,}$/)
    const secret = share.url.split("/").at(-1)!
    const page = await server.fetch(
      new Request(`https://stemma.example.org/share/${secret}`, { headers: { host: "stemma.example.org" } }),
    )
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('<h1 id="title">Here</h1>')
  })
})
