import assert from "node:assert/strict"
import type { PartBody } from "../../../protocol/index.ts"
import type { SearchHit, SearchQuery } from "../../store.ts"
import { completed } from "../samples.ts"
import { failsWith, promised, type Scene } from "../scene.ts"

async function found(scene: Scene, query: string | SearchQuery): Promise<SearchHit[]> {
  const page = await scene.store.search(typeof query === "string" ? { text: query } : query)
  return page.hits
}

const snippets = (hits: SearchHit[]) => hits.map((hit) => hit.snippet)

export const searchCases = [
  promised("text, reasoning, tool input and output, file names and titles are found", async (scene) => {
    const { make } = scene
    const run = await scene.session({ title: "the zebra question" })
    const part = (fields: object) => ({ id: make.id("part"), ...fields }) as PartBody
    const parts: [string, string, PartBody][] = [
      ["text", "walrus", make.text("a walrus swims")],
      ["reasoning", "pelican", make.reasoning("maybe a pelican")],
      ["tool", "marmot", make.tool({ ...completed, input: { command: "cat marmot" } })],
      ["tool", "gibbon", make.tool({ ...completed, output: "one gibbon" })],
      ["file", "lemur", make.file("https://example.org/x", "lemur.txt")],
      ["other", "otter", part({ type: "compaction", auto: true, summary: "otter" })],
    ]
    const messageID = await run.append(parts.map(([, , body]) => body))
    for (const [kind, word, { id: partID }] of parts) {
      const [hit, ...others] = await found(scene, word)
      const { snippet, marks, ...place } = hit!
      assert.deepEqual(others, [])
      const expected = { kind, sessionID: run.id, forks: 0, messageID, partID, position: 0, role: "user" }
      assert.deepEqual(place, expected)
      assert.deepEqual(
        marks.map(([start, end]) => snippet.slice(start, end)),
        [word],
      )
    }
    assert.deepEqual(await found(scene, "zebra"), [
      { kind: "title", sessionID: run.id, forks: 0, snippet: "the zebra question", marks: [[4, 9]] },
    ])
    assert.deepEqual(await found(scene, "unicorn"), [])
  }),

  promised(
    "search finds everything that was sealed before the call, and nothing that is open",
    async (scene) => {
      const { make } = scene
      const run = await scene.session()
      const part = make.text("wal")
      const messageID = await run.begin(part)
      assert.deepEqual(await found(scene, "wal"), [])
      await run.grow(messageID, { partID: part.id, offset: 3, text: "rus" })
      assert.deepEqual(await found(scene, "walrus"), [])
      await run.seal(messageID)
      assert.deepEqual(snippets(await found(scene, "walrus")), ["walrus"])
      assert.deepEqual(await found(scene, "wal"), [])
    },
  ),

  promised(
    "all words must match, ignoring case; quoted text matches literally; a star matches a prefix",
    async (scene) => {
      const run = await scene.session({ title: "-" })
      await run.sayAll("The quick brown fox", "quick and brown", "brown quickly")
      assert.equal((await found(scene, "QUICK brown")).length, 2)
      assert.deepEqual(snippets(await found(scene, '"quick brown"')), ["The quick brown fox"])
      assert.equal((await found(scene, "quick*")).length, 3)
      assert.deepEqual(await found(scene, "quick unicorn"), [])
    },
  ),

  promised("Chinese, Japanese and Korean are found by any two characters", async (scene) => {
    const run = await scene.session({ title: "-" })
    await run.sayAll("我们在会话系统中搜索消息", "東京タワーへ行きます", "안녕하세요 세계")
    for (const [query, text] of [
      ["会话", "我们在会话系统中搜索消息"],
      ["话系", "我们在会话系统中搜索消息"],
      ["搜索消息", "我们在会话系统中搜索消息"],
      ["京タ", "東京タワーへ行きます"],
      ["녕하", "안녕하세요 세계"],
    ] as const) {
      assert.deepEqual(snippets(await found(scene, query)), [text], query)
    }
    assert.deepEqual(await found(scene, "会系"), [])
  }),

  promised("titles come first, then parts, newest first", async (scene) => {
    const first = await scene.session({ title: "walrus one" })
    const second = await scene.session({ title: "walrus two" })
    await first.say("walrus a")
    await second.say("walrus b")
    await first.append([scene.make.text("walrus c"), scene.make.text("walrus d")])
    const expected = ["walrus two", "walrus one", "walrus d", "walrus c", "walrus b", "walrus a"]
    assert.deepEqual(snippets(await found(scene, "walrus")), expected)
  }),

  promised("the age of a part is the time of its first put, not of sealing", async (scene) => {
    const { make } = scene
    const [first, second] = [await scene.session({ title: "-" }), await scene.session({ title: "-" })]
    const part = make.text("walrus early")
    const messageID = await first.begin(part)
    await second.say("walrus late")
    await first.put(messageID, { ...part, text: "walrus early, put again" })
    await first.seal(messageID)
    assert.deepEqual(snippets(await found(scene, "walrus")), ["walrus late", "walrus early, put again"])
  }),

  promised("all pages together are the whole list, in every order", async (scene) => {
    for (let i = 0; i < 3; i++) {
      const run = await scene.session({ title: `walrus ${i}` })
      await run.sayAll(
        ...Array.from({ length: 7 }, (_, j) => `${"walrus ".repeat(1 + ((i + j) % 4))}${i} ${j}`),
      )
    }
    for (const order of ["newest", "relevance"] as const) {
      const whole = await found(scene, { text: "walrus", order })
      assert.equal(whole.length, 24)
      for (const limit of [1, 4, 23, 24]) {
        const joined: SearchHit[] = []
        let cursor: string | undefined
        do {
          const page = await scene.store.search({ text: "walrus", order, limit, cursor })
          assert.ok(page.hits.length <= limit)
          joined.push(...page.hits)
          cursor = page.next
        } while (cursor !== undefined)
        assert.deepEqual(joined, whole)
      }
    }
  }),

  promised("by relevance, a text with more matches comes before a text with one match", async (scene) => {
    const run = await scene.session({ title: "-" })
    await run.sayAll("walrus walrus walrus", "one walrus among many other words that say nothing of it")
    assert.deepEqual(
      snippets(await found(scene, { text: "walrus", order: "relevance" }))[0],
      "walrus walrus walrus",
    )
    assert.notDeepEqual(snippets(await found(scene, "walrus"))[0], "walrus walrus walrus")
  }),

  promised(
    "a hit names the session that wrote the message and counts the sessions that share it",
    async (scene) => {
      const source = await scene.session({ title: "-" })
      const ids = await source.sayAll("walrus", "pelican")
      const early = await scene.fork(source.id, { messageID: ids[1], fields: { title: "-" } })
      const late = await scene.fork(source.id, { fields: { title: "-" } })
      const [walrus] = await found(scene, "walrus")
      assert.deepEqual([walrus?.sessionID, walrus?.forks], [source.id, 2])
      const [pelican] = await found(scene, "pelican")
      assert.deepEqual([pelican?.sessionID, pelican?.forks], [source.id, 1])
      await scene.store.remove(source.id)
      const [orphan] = await found(scene, "walrus")
      assert.deepEqual([orphan?.sessionID, orphan?.forks], [early.id, 1])
      const [kept] = await found(scene, "pelican")
      assert.deepEqual([kept?.sessionID, kept?.forks], [late.id, 0])
      await scene.store.remove(late.id)
      assert.deepEqual(await found(scene, "pelican"), [])
    },
  ),

  promised("filters select among the sessions that share a part", async (scene) => {
    const source = await scene.session({ title: "walrus", projectID: "one", directory: "/one" })
    await source.say("walrus")
    const fork = await scene.fork(source.id, { fields: { title: "-", projectID: "two", directory: "/two" } })
    const named = async (query: Partial<SearchQuery>) =>
      (await found(scene, { text: "walrus", ...query })).map((hit) => [hit.kind, hit.sessionID, hit.forks])
    const title = ["title", source.id, 0]
    assert.deepEqual(await named({ projectID: "one" }), [title, ["text", source.id, 1]])
    assert.deepEqual(await named({ projectID: "two" }), [["text", fork.id, 1]])
    assert.deepEqual(await named({ directory: "/two" }), [["text", fork.id, 1]])
    assert.deepEqual(await named({ sessionID: fork.id }), [["text", fork.id, 1]])
    assert.deepEqual(await named({ sessionID: fork.id, projectID: "one" }), [])
    assert.deepEqual(await named({ sessionID: scene.make.id("session") }), [])
    assert.deepEqual(await named({ kinds: ["title"] }), [title])
    assert.deepEqual(await named({ kinds: ["text", "file"] }), [["text", source.id, 1]])
    assert.deepEqual(await named({ kinds: ["tool"] }), [])
  }),

  promised("messages of a left tail are found and marked as left", async (scene) => {
    const run = await scene.session({ title: "-" })
    const ids = await run.sayAll("pelican", "walrus")
    await run.moveBefore(ids[1]!)
    const [walrus] = await found(scene, "walrus")
    assert.deepEqual([walrus?.left, walrus?.position, walrus?.sessionID], [true, 1, run.id])
    const [pelican] = await found(scene, "pelican")
    assert.ok(!("left" in pelican!))
    const left = (await run.info()).history.left[0]!.segment
    const fork = await scene.fork(run.id, { left, fields: { title: "-" } })
    const [mine] = await found(scene, { text: "walrus", sessionID: fork.id })
    assert.deepEqual([mine?.sessionID, mine?.left, mine?.forks], [fork.id, undefined, 1])
  }),

  promised("only the present title is found", async (scene) => {
    const run = await scene.session({ title: "walrus" })
    await scene.store.commit({ ops: [{ op: "session.patch", sessionID: run.id, set: { title: "pelican" } }] })
    assert.deepEqual(await found(scene, "walrus"), [])
    assert.deepEqual(snippets(await found(scene, "pelican")), ["pelican"])
  }),

  promised(
    "a search without a word, with an invalid limit or with an invalid cursor is refused",
    async (scene) => {
      const { store } = scene
      for (const text of ["", "   ", "!!!"]) await failsWith("invalid", store.search({ text }))
      for (const limit of [0, 201, 1.5]) await failsWith("invalid", store.search({ text: "a", limit }))
      await failsWith("invalid", store.search({ text: "a", cursor: "nonsense" }))
    },
  ),

  promised("a long text is found by its end, and the snippet shows the match", async (scene) => {
    const run = await scene.session({ title: "-" })
    await run.say(`${"word ".repeat(20_000)}walrus at the end`)
    const [hit] = await found(scene, "walrus")
    const [start, end] = hit!.marks[0]!
    assert.equal(hit?.snippet.slice(start, end), "walrus")
    assert.ok(hit.snippet.length < 300)
  }),
]
