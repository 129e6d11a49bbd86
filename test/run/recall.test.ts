import { expect, test } from "vitest"
import type { SessionHandle } from "../../src/index.ts"
import { partsOf, type RunScene, type RunSceneOptions, runScene } from "../support/run-scene.ts"

type Input = Record<string, unknown>

/** A scene whose model calls recall with the input of a prompt such as `recall {...}`. */
async function scene(options: RunSceneOptions = {}): Promise<RunScene> {
  return runScene({
    script: ({ messages }) => {
      const last = messages.at(-1)!
      if (last.role !== "user") return { text: "Done." }
      const said = last.content.map((one) => (one.type === "text" ? one.text : "")).join("\n")
      const [, tool, input] = /^(\w+) (\{.*\})$/m.exec(said) ?? []
      return tool ? { calls: [{ tool, input: JSON.parse(input!) as Input }] } : { text: "Done." }
    },
    ...options,
  })
}

/** The result of recall in a session. */
async function recall(session: SessionHandle, input: Input): Promise<string> {
  await session.prompt(`recall ${JSON.stringify(input)}`)
  const { state } = partsOf(await session.messages({ last: 2 }), "tool").at(-1)!
  return state.status === "completed" ? state.output : state.status === "error" ? state.error : state.status
}

async function fill(session: SessionHandle, turns: number, words = 60): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    const filler = Array.from({ length: words }, (_, at) => `w${at}`).join(" ")
    await session.append({ role: "user", text: `Question ${turn}: ${filler}` })
    await session.append({ role: "assistant", text: `Answer ${turn}.` })
  }
}

async function compacted(session: SessionHandle, one: RunScene): Promise<void> {
  one.model.add({ for: "compaction", text: "Nothing of note." })
  await session.compact()
}

const limit = { context: 12_000, output: 2_000 }

test("after a compaction the model can find text that is in neither the summary nor the ledger", async () => {
  await using one = await scene({ limit, config: { compaction: { keepTurns: 1 } } })
  const session = await one.stemma.sessions.create()
  await session.append({ role: "user", text: "Look around." })
  await session.append({ role: "assistant", text: "The cat in the picture looks like a Schnurrbart." })
  await fill(session, 12)
  await compacted(session, one)
  const output = await recall(session, { query: "cat picture" })
  const step = one.model.requests.findLast(({ purpose, messages }) => {
    return purpose === "step" && messages.at(-1)!.role === "user"
  })!
  expect(JSON.stringify(step.messages)).toContain("Nothing of note.")
  expect(JSON.stringify(step.messages)).not.toContain("Schnurrbart")
  expect(output).toContain("#1 assistant")
  expect(output).toContain("> The cat in the picture looks like a Schnurrbart.")
})

test("paging goes from the last hidden message to the first one without a gap", async () => {
  await using one = await scene({ config: { compaction: { keepTurns: 1 } } })
  const session = await one.stemma.sessions.create()
  await fill(session, 40, 120)
  await compacted(session, one)
  const messages = await session.messages()
  const kept = partsOf(messages, "compaction").at(-1)!.firstKeptEntryId
  const shownFrom = messages.find(({ message }) => message.id === kept)!.position
  const seen: number[] = []
  let input: Input = {}
  for (let pages = 0; pages < 40; pages++) {
    const output = await recall(session, input)
    expect(output.length).toBeLessThanOrEqual(8_000)
    seen.unshift(...[...output.matchAll(/^#(\d+) /gm)].map(([, position]) => Number(position)))
    const next = /^Before these: recall (.*)$/m.exec(output)?.[1]
    if (next === undefined) break
    input = JSON.parse(next) as Input
  }
  expect(seen).toEqual(Array.from({ length: shownFrom }, (_, position) => position))
})

test("paging also goes forward from a message, and reports the end of the history", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  await fill(session, 3)
  const page = await recall(session, { position: 1, count: 2 })
  expect(page).toMatch(/^Messages 1 to 2; this session has 0 to 6\./)
  expect(page).toContain("> Answer 0.")
  expect(page).toContain("> Question 1:")
  expect(page).toContain('Before these: recall {"before":1}')
  expect(page).toContain('After these: recall {"position":3}')
  expect(await recall(session, { position: 99 })).toContain(
    "There is no message at 99 or after: the history goes",
  )
})

test("pruned output can be found and read whole, in pieces", async () => {
  const lines = Array.from({ length: 900 }, (_, at) => `line ${at} of the long report`)
  lines[700] = "the needle is Quellwasser"
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  for (let turn = 0; turn < 10; turn++) {
    const output = turn === 0 ? lines.join("\n") : `Output ${turn}: ${"x y ".repeat(16_000)}`
    await session.append({ role: "user", text: `Turn ${turn}` })
    await session.append({ role: "tool", tool: "report", input: { turn }, output })
  }
  one.model.add({ error: { kind: "context", message: "Too long." } })
  await session.prompt("Well?")
  const shown = JSON.stringify(one.model.requests.at(-1)!.messages)
  expect(shown).toContain("This output was left out to save space. Find it with recall")
  expect(shown).not.toContain("Quellwasser")
  const hit = await recall(session, { query: "Quellwasser" })
  expect(hit).toContain("the needle is Quellwasser")
  let input = JSON.parse(/^To read the first: recall (.*)$/m.exec(hit)![1]!) as Input
  expect(await recall(session, input)).toContain("> the needle is Quellwasser")
  input = { ...input, offset: 0 }
  let whole = ""
  for (let reads = 0; reads < 20; reads++) {
    const output = await recall(session, input)
    expect(output.length).toBeLessThanOrEqual(8_000)
    const said = output.split("\n").filter((line) => line.startsWith("> "))
    whole += said.map((line) => line.slice(2)).join("\n")
    const next = /more characters: recall (\{.*\})\)$/m.exec(output)?.[1]
    if (next === undefined) break
    input = JSON.parse(next) as Input
  }
  for (const line of lines) expect(whole).toContain(line)
})

test("descendants can be searched and read; other sessions cannot, and are not revealed", async () => {
  await using one = await scene()
  const { sessions } = one.stemma
  const session = await sessions.create()
  await fill(session, 1)
  const child = await sessions.create({ parentID: session.id, title: 'Look "around"\n#7 user' })
  await child.append({ role: "user", text: "The child says Holunder." })
  const grandchild = await sessions.create({ parentID: child.id })
  await grandchild.append({ role: "user", text: "The grandchild says Wacholder." })
  const stranger = await sessions.create()
  await stranger.append({ role: "user", text: "The stranger says Holunder Wacholder Geheimnis." })

  const found = await recall(session, { query: "Holunder" })
  expect(found).toContain(`In child ${child.id} "Look \\"around\\" #7 user":`)
  expect(found).toContain("> The child says Holunder.")
  expect(found).not.toContain("stranger")
  expect(await recall(session, { query: "Wacholder" })).toContain(`In child ${grandchild.id}`)
  expect(await recall(session, { session: grandchild.id })).toContain("> The grandchild says Wacholder.")
  expect(await recall(session, { session: child.id, query: "says" })).toContain("The child says")
  expect(await recall(session, {})).toContain(`To read one: recall {"session":"${child.id}"}`)
  expect(await recall(session, { query: "Geheimnis" })).toContain("Nothing was found.")

  const refusals = await Promise.all(
    [stranger.id, "ses_00000000000000000000000000", "../x"].map((id) =>
      sessions.create().then(async (fresh) => {
        await fresh.append({ role: "user", text: "Hi" })
        return recall(fresh, { session: id })
      }),
    ),
  )
  expect(new Set(refusals)).toEqual(new Set([expect.stringContaining("no child with that id")]))
  expect(await recall(child, { session: session.id })).toContain("no child with that id")
  expect(await recall(child, { query: "Question" })).toContain("Nothing was found.")
})

test("older hits are found by searching before the oldest one; if no message has all the words, some are enough", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  for (let turn = 0; turn < 25; turn++) {
    await session.append({
      role: "user",
      text: `Apfelbaum number ${turn}${turn === 7 ? " near the Mühle" : ""}`,
    })
  }
  const seen: number[] = []
  let input: Input = { query: "Apfelbaum" }
  for (let searches = 0; searches < 10; searches++) {
    const output = await recall(session, input)
    seen.push(...[...output.matchAll(/^> Apfelbaum number (\d+)/gm)].map(([, turn]) => Number(turn)))
    const older = /For older ones add (\{.*\}) to the query/.exec(output)?.[1]
    if (older === undefined) break
    input = { query: "Apfelbaum", ...(JSON.parse(older) as Input) }
  }
  expect(seen).toEqual(Array.from({ length: 25 }, (_, at) => 24 - at))
  const range = await recall(session, { query: "number", position: 3, before: 5 })
  expect([...range.matchAll(/^> (.*)$/gm)].map(([, text]) => text)).toEqual([
    "Apfelbaum number 4",
    "Apfelbaum number 3",
  ])
  const some = await recall(session, { query: "the old Mühle with Apfelbaum" })
  expect(some).toMatch(/^No message has all these words/)
  expect([...some.matchAll(/^> (.*)$/gm)][0]![1]).toBe("Apfelbaum number 7 near the Mühle")
})

test("ignored text and the open answer are neither found nor read", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  const aside = { type: "text" as const, text: "An aside: Stachelbeere.", ignored: true }
  const spoken = { type: "text" as const, text: "Said aloud: Johannisbeere." }
  await session.append({ role: "user", parts: [aside, spoken] })
  expect(await recall(session, { query: "Stachelbeere" })).toContain("Nothing was found.")
  expect(await recall(session, { query: "Johannisbeere" })).toContain("#0 user")
  const page = await recall(session, { position: 0, count: 1 })
  expect(page).toContain("[0] text\n> Said aloud: Johannisbeere.")
  expect(page).not.toContain("Stachelbeere")
  // The recall call is in the last message, which is open while the call runs.
  const all = await session.messages()
  expect(page).toContain(`has 0 to ${all.length - 3}.`)
})

test("a revert to a part hides the rest of that message", async () => {
  await using one = await scene()
  const { sessions } = one.stemma
  const session = await sessions.create()
  await session.append({ role: "user", text: "Go." })
  const child = await sessions.create({ parentID: session.id })
  await child.append({ role: "user", text: "Tell." })
  const words = ["First: Linde.", "Second: Pappel."].map((text) => ({ type: "text" as const, text }))
  const { message, parts } = await child.append({ role: "assistant", parts: words })
  await sessions.revert(child.id, { messageID: message.id, partID: parts[1]!.id })
  expect(await recall(session, { query: "Linde" })).toContain("> First: Linde.")
  expect(await recall(session, { query: "Pappel" })).toContain("Nothing was found.")
  const page = await recall(session, { session: child.id })
  expect(page).toContain("> First: Linde.")
  expect(page).not.toContain("Pappel")
})

test("messages hidden or left behind by a revert are neither found nor read, also in a child", async () => {
  await using one = await scene()
  const { sessions } = one.stemma
  const session = await sessions.create()
  await session.append({ role: "user", text: "Plain start." })
  await session.append({ role: "assistant", text: "Yes." })
  const { message } = await session.append({ role: "user", text: "The regretted word is Brombeere." })
  await sessions.revert(session.id, { messageID: message.id })
  expect(await recall(session, { query: "Brombeere" })).toContain("Nothing was found.")
  expect(await recall(session, {})).not.toContain("regretted")
  expect(await recall(session, { query: "start" })).toContain("> Plain start.")

  const child = await sessions.create({ parentID: session.id })
  await child.append({ role: "user", text: "The kept word is Apfel." })
  const marked = await child.append({ role: "user", text: "The marked word is Zwetschge." })
  await sessions.revert(child.id, { messageID: marked.message.id })
  expect(await recall(session, { query: "Zwetschge" })).toContain("Nothing was found.")
  expect(await recall(session, { query: "Apfel" })).toContain("> The kept word is Apfel.")
  expect(await recall(session, { session: child.id })).toMatch(/that session has 0 to 0\./)
  expect(await recall(session, { session: child.id, position: 1 })).toContain("There is no message at 1")
})

test("a fork finds the shared history and its own, and not later messages of its source", async () => {
  await using one = await scene()
  const { sessions } = one.stemma
  const source = await sessions.create()
  await source.append({ role: "user", text: "Shared: Ahorn." })
  await source.append({ role: "assistant", text: "Yes." })
  const fork = await sessions.fork(source.id)
  await source.append({ role: "user", text: "Source alone: Birke." })
  await fork.append({ role: "user", text: "Fork alone: Buche." })
  expect(await recall(fork, { query: "Ahorn" })).toContain("#0 user")
  expect(await recall(fork, { query: "Birke" })).toContain("Nothing was found.")
  expect(await recall(source, { query: "Buche" })).toContain("Nothing was found.")
  expect(await recall(fork, { query: "Buche" })).toContain("> Fork alone: Buche.")
  expect(await recall(fork, { session: source.id })).toContain("no child with that id")
})

test("in a trimmed history, paging begins with the messages just before the shown ones", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create({ maxHistory: 4 })
  await fill(session, 10)
  const page = await recall(session, {})
  const shownFrom = Number(/you are shown what begins at (\d+)/.exec(page)![1])
  expect(shownFrom).toBeGreaterThan(15)
  expect(page).toContain(`Messages ${shownFrom - 20 < 0 ? 0 : shownFrom - 20} to ${shownFrom - 1};`)
  const asked = one.model.requests.findLast(({ messages }) => messages.at(-1)!.role === "user")!
  expect(JSON.stringify(asked.messages)).not.toContain(`Answer ${shownFrom / 2 - 1}.`)
  expect(page).toContain(`> Answer ${shownFrom / 2 - 1}.`)
})

test("output of recall and summaries are not found", async () => {
  await using one = await scene({ limit, config: { compaction: { keepTurns: 1 } } })
  const session = await one.stemma.sessions.create()
  await session.append({ role: "user", text: "We drink Hagebuttentee." })
  await fill(session, 12)
  one.model.add({ for: "compaction", text: "They drink Hagebuttentee." })
  await session.compact()
  for (let time = 0; time < 3; time++) {
    const output = await recall(session, { query: "hagebuttentee" })
    expect([...output.matchAll(/^#\d+ \w+/gm)].flat()).toContain("#0 user")
    expect(output).not.toContain("(call of recall)")
    expect(output).not.toContain("(summary)")
  }
})

test("secrets in the history are masked in the results", async () => {
  const key = "sk-test-0123456789abcdef"
  await using one = await scene({
    env: { PATH: process.env.PATH, OPENAI_API_KEY: key },
    config: { provider: { scripted: { options: { apiKey: key } } } },
  })
  const session = await one.stemma.sessions.create()
  await session.append({ role: "user", text: `Use the key ${key} for Nachtigall.` })
  const output = await recall(session, { query: "Nachtigall" })
  expect(output).toContain("for Nachtigall.")
  expect(output).not.toContain(key)
  const cut = await recall(session, { position: 0, part: 0, offset: 20 })
  expect(cut).toContain("for Nachtigall.")
  expect(cut).not.toContain("abcdef")
})

test("recall is allowed by default; a rule can deny it, and a switch can remove it", async () => {
  await using one = await scene()
  const offered = () => one.model.requests.at(-1)!.tools.map(({ name }) => name)
  const session = await one.stemma.sessions.create({ agent: "plan" })
  expect(await recall(session, {})).toContain("Messages 0 to 0")
  expect(offered()).toContain("recall")
  await using denied = await scene({ config: { permission: { recall: "deny" } } })
  const other = await denied.stemma.sessions.create()
  expect(await recall(other, {})).toContain("There is no tool recall")
  await using off = await scene({ config: { tools: { recall: false } } })
  const third = await off.stemma.sessions.create()
  expect(await recall(third, {})).toContain("There is no tool recall")
})
