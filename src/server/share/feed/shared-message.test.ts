import { describe, expect, test } from "vitest"
import { type HistoryItem, type Message, noTokens, type Part, type Session } from "../../../protocol/index.ts"
import { titleFromText } from "../../../session/index.ts"
import { createSharedMask } from "../mask/mask-shared.ts"
import { type Include, includeOf, sharedHeader, sharedMessage } from "./shared-message.ts"

const ids = { sessionID: "ses_a", messageID: "msg_a" }
const everything = { reasoning: true, tools: true }

function item(parts: object[], message: object = {}): HistoryItem {
  const model = { providerID: "p", modelID: "m" }
  const standard = { id: "msg_a", role: "user", time: { created: 1 }, agent: "build", model }
  return {
    position: 3,
    version: 1,
    sealed: true,
    message: { ...standard, sessionID: "ses_a", ...message } as Message,
    parts: parts.map((part, at) => ({ id: `prt_${at}`, ...ids, ...part }) as Part),
  }
}

function shown(of: HistoryItem, include: Include = { reasoning: false, tools: false }) {
  const mask = createSharedMask({ values: ["secret-words"], paths: [] })
  return sharedMessage(of, { include, mask, sizeOf: async () => 12 })
}

const answer = {
  role: "assistant",
  providerID: "p",
  modelID: "m",
  parentID: "msg_b",
  path: { cwd: "/hidden", root: "/hidden" },
  cost: 1,
  tokens: noTokens(),
  time: { created: 1, completed: 2 },
}

describe("a shared message", () => {
  test("has nothing about the machine or the run, whatever is included", async () => {
    const parts = [
      { type: "step-start", snapshot: "hidden" },
      { type: "snapshot", snapshot: "hidden" },
      { type: "patch", hash: "hidden", files: ["/hidden"] },
      {
        type: "retry",
        attempt: 1,
        error: { name: "UnknownError", data: { message: "hidden" } },
        time: { created: 1 },
      },
      { type: "step-finish", reason: "stop", cost: 1, tokens: noTokens(), snapshot: "hidden" },
      { type: "agent", name: "hidden" },
    ]
    expect(await shown(item(parts, answer), everything)).toBeUndefined()
    const said = await shown(
      item([...parts, { type: "text", text: "said", metadata: { a: "hidden" } }], answer),
      everything,
    )
    expect(said).toEqual({
      id: "msg_a",
      position: 3,
      role: "assistant",
      agent: "build",
      model: "p/m",
      time: { created: 1, completed: 2 },
      parts: [{ type: "text", text: "said" }],
    })
  })

  test("shows only that there was a summary", async () => {
    const parts = [
      { type: "compaction", auto: true, summary: "hidden", ledger: "hidden", facts: {} },
      { type: "text", text: "hidden" },
    ]
    for (const of of [
      item(parts, { ...answer, summary: true }),
      item(parts),
      item([parts[1]!], { ...answer, summary: true }),
    ]) {
      expect((await shown(of, everything))!.parts).toEqual([{ type: "compaction" }])
    }
  })

  test("shows only that there was a task", async () => {
    const subtask = { type: "subtask", prompt: "hidden", description: "hidden", agent: "general" }
    expect((await shown(item([subtask]), everything))!.parts).toEqual([{ type: "task" }])
  })

  test("has no tool call that has not ended", async () => {
    const pending = {
      type: "tool",
      callID: "c",
      tool: "bash",
      state: { status: "pending", input: {}, raw: "{" },
    }
    expect(await shown(item([pending], answer), everything)).toBeUndefined()
  })

  test("has no secrets in the names of tools, files, agents and models", async () => {
    const file = { type: "file", mime: "text/secret-words", filename: "a/secret-words.txt", url: "blob:ab" }
    const tool = {
      type: "tool",
      callID: "c",
      tool: "secret-words",
      state: {
        status: "error",
        input: { a: "secret-words" },
        error: "secret-words",
        time: { start: 1, end: 2 },
      },
    }
    const message = await shown(
      item([file, tool], { ...answer, agent: "secret-words", modelID: "secret-words" }),
      everything,
    )
    expect(JSON.stringify(message)).not.toContain("secret-words")
    expect(message!.parts[0]).toEqual({
      type: "file",
      name: "[redacted].txt",
      mime: "text/[redacted]",
      bytes: 12,
    })
  })

  test("is cut if it is long, and masks a secret at the cut", async () => {
    const long = `${"word ".repeat(23_999)} secret-words ${"word ".repeat(24_000)}`
    const [part] = (await shown(item([{ type: "text", text: long }])))!.parts
    expect(part).toMatchObject({ text: expect.stringMatching(/ …$/) })
    expect(JSON.stringify(part)).not.toContain("secret")
    expect(JSON.stringify(part).length).toBeLessThan(120_100)
  })

  test("has the same limit for many parts as for one long part", async () => {
    const parts = Array.from({ length: 700 }, (_, at) => ({
      type: "text",
      text: `${at} ${"word ".repeat(100)}`,
    }))
    const { parts: said } = (await shown(item(parts)))!
    expect(said).toHaveLength(501)
    expect(said.at(-1)).toEqual({ type: "text", text: "…" })
    expect(JSON.stringify(said).length).toBeLessThan(150_000)
    expect(JSON.stringify(said)).toContain("200 word")
  })

  test("shows nothing from behind the cut, however much before it was masked", async () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0B\n".repeat(130)}-----END PRIVATE KEY-----\n`
    const keys = key.repeat(4)
    for (const at of [119_990, 128_170, 128_192]) {
      const filler = "word ".repeat(30_000).slice(0, at - keys.length - 1)
      const long = `${keys}${filler} postgres://admin:s3cretPassw0rdOfMine@db.example.org and ${"more ".repeat(5000)}`
      const [part] = (await shown(item([{ type: "text", text: long }])))!.parts
      expect(part).toMatchObject({ text: expect.stringMatching(/^\[redacted\].* …$/s) })
      expect(JSON.stringify(part)).not.toContain("s3cret")
    }
  })
})

describe("a shared session", () => {
  const session = {
    id: "ses_a",
    title: "About secret-words",
    directory: "/hidden",
    share: { url: "http://hidden", secret: "hidden", include: { tools: true } },
    time: { created: 1, updated: 2 },
    cost: 3,
  } as Session

  test("has its title, its times and its options", () => {
    const mask = createSharedMask({ values: ["secret-words"], paths: [] })
    expect(sharedHeader(session, { include: includeOf(session), mask, titleSource: undefined })).toEqual({
      title: "About [redacted]",
      time: { created: 1, updated: 2 },
      include: { reasoning: false, tools: true },
    })
  })

  const token = `ghp_${"a1B2c3D4".repeat(5).slice(0, 36)}`
  test.each([
    ["use postgres://me:Tr0ub4dor-9z@db.example.org/x", "Tr0ub4dor"],
    [`${token} is refused`, "ghp_a1B2"],
    ["swordfishswordfishswordfishswordfish is the value", "swordfish"],
    [`  \n ${token}`, "ghp_a1B2"],
  ])("a title cut from %j shows no beginning of a secret", (text, secret) => {
    const mask = createSharedMask({ values: ["swordfishswordfishswordfishswordfish"], paths: [] })
    const titled = { ...session, title: titleFromText(text) }
    expect(titled.title).toContain(secret)
    const titleSource = { title: titled.title, texts: [text], isHidden: false }
    const { title } = sharedHeader(titled, { include: includeOf(session), mask, titleSource })
    expect(title).toContain("[redacted]")
    expect(title).not.toContain(secret)
  })

  test("a title of unknown origin shows no beginning of a secret, and otherwise stays", () => {
    const mask = createSharedMask({ values: [], paths: [] })
    const options = { include: includeOf(session), mask, titleSource: undefined }
    const titleOf = (title: string) => sharedHeader({ ...session, title }, options).title
    expect(titleOf("please use postgres://me:Tr0ub")).toBe("please [redacted]")
    expect(titleOf(`see ${token.slice(0, 26)}`)).toBe("see [redacted]")
    for (const title of [
      "Explain the token bucket algorithm",
      "Why is my password: field empty",
      "Fix the flaky test in https://x.org",
      "把登录页面的密码：输入框改成两行显示，谢谢",
      "Move src/server/share/mask/mask-shared.ts",
    ]) {
      expect(titleOf(title)).toBe(title)
    }
  })

  test("a secret that spans two parts of the prompt is not in the title", () => {
    const mask = createSharedMask({ values: [], paths: [] })
    const texts = ["use postgres://me:Tr0ub", "4dor-9z@db.example.org/x please"]
    const titled = { ...session, title: titleFromText(texts[0]!) }
    const titleSource = { title: titled.title, texts, isHidden: false }
    expect(sharedHeader(titled, { include: includeOf(session), mask, titleSource }).title).not.toContain(
      "Tr0ub",
    )
  })

  test("a title that a person chose stays, unless the prompt is hidden", () => {
    const mask = createSharedMask({ values: [], paths: [] })
    const options = { include: includeOf(session), mask }
    const titleOf = (isHidden: boolean) =>
      sharedHeader(
        { ...session, title: "Mine" },
        { ...options, titleSource: { title: "Hello", texts: ["Hello"], isHidden } },
      ).title
    expect(titleOf(false)).toBe("Mine")
    expect(titleOf(true)).toBe("New session - 1970-01-01T00:00:00.001Z")
  })
})
