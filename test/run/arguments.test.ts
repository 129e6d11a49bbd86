import { describe, expect, test } from "vitest"
import { z } from "zod"
import {
  createScriptedModel,
  openStemma,
  StemmaError,
  type StemmaOptions,
  type Tool,
} from "../../src/index.ts"
import { rejection } from "../support/rejection.ts"
import { type RunScene, runScene } from "../support/run-scene.ts"

/** Calls as from plain JavaScript, without types. */
// biome-ignore lint/suspicious/noExplicitAny: wrong arguments are the point
type Untyped = any

type Call = (value: unknown) => unknown

const throwing = new Proxy(
  {},
  {
    get() {
      throw new Error("It went off.")
    },
  },
)

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const never: [string, unknown][] = [
  ["null", null],
  ["a symbol", Symbol("s")],
  ["a bigint", 10n],
  ["a function", () => 1],
  ["a throwing proxy", throwing],
  ["a revoked proxy", revoked()],
  ["a list of null", [null]],
  ["a date", new Date(Number.NaN)],
  ["a map", new Map()],
  ["a promise", Promise.resolve("x")],
]
const numbers: [string, unknown][] = [
  ["0", 0],
  ["NaN", Number.NaN],
  ["-1", -1],
]
const notText: [string, unknown][] = [...never, ...numbers, ["true", true], ["{}", {}], ["[]", []]]
const notName: [string, unknown][] = [...notText, ["an empty text", ""]]
const notID: [string, unknown][] = [...notName, ["a path", "../../etc/passwd"], ["a NUL", "ses_\0"]]
const notRequiredID: [string, unknown][] = [...notID, ["nothing", undefined]]
const notFlag: [string, unknown][] = [...never, ...numbers, ["a text", "no"], ["{}", {}]]
const notCount: [string, unknown][] = [
  ...never,
  ["NaN", Number.NaN],
  ["-1", -1],
  ["1.5", 1.5],
  ["a text", "x"],
]
const notPositive: [string, unknown][] = [...notCount, ["0", 0]]
const notList: [string, unknown][] = [...notText.filter(([name]) => name !== "[]"), ["a text", "a.txt"]]
const notObject: [string, unknown][] = [
  ...never,
  ...numbers,
  ["a text", "queue"],
  ["a list", []],
  ["an unknown name", { nonsense: 1 }],
  ["a prototype", JSON.parse('{"__proto__":{"x":1}}')],
]
const notRequiredObject: [string, unknown][] = [...notObject, ["nothing", undefined], ["{}", {}]]

const goodShare = { url: "https://example.org/share/a", secret: "a".repeat(22) }

/** The call, the name that its error message must contain, and the values that it refuses. */
type Row = [name: string, named: string, wrong: [string, unknown][], call: (at: Place) => Call]

interface Place {
  sessions: Untyped
  session: Untyped
  stemma: Untyped
  permissions: Untyped
  id: string
  messageID: string
}

const rows: Row[] = [
  ["sessions.create", "sessions.create", notObject, (at) => (x) => at.sessions.create(x)],
  ...fields("sessions.create", (at, options) => at.sessions.create(options), {
    id: notID,
    key: [...notName, ["a long text", "k".repeat(513)]],
    directory: notName,
    parentID: notID,
    agent: notName,
    model: [...notName, ["no slash", "gpt"], ["no model", "openai/"], ["no provider", "/gpt"]],
    title: notText,
    permission: [
      ...never,
      ["0", 0],
      ["a text", "allow"],
      ["an odd action", { edit: "maybe" }],
      ["odd rules", [{ edit: "ask" }]],
    ],
    maxHistory: notPositive,
    budget: [...never, ["NaN", Number.NaN], ["-1", -1], ["a text", "1"]],
    files: [...notList, ["an empty path", [""]], ["a number", [5]], ["a NUL", ["a\0b"]]],
  }),
  ["sessions.current", "sessions.current", notObject, (at) => (x) => at.sessions.current(x)],
  ["sessions.reset", "sessions.reset", notObject, (at) => (x) => at.sessions.reset(x)],
  ...fields("sessions.current", (at, options) => at.sessions.current(options), {
    scope: [...notName, ["a long text", "s".repeat(401)]],
    agent: notName,
  }),
  ["sessions.get", "session id", notRequiredID, (at) => (x) => at.sessions.get(x)],
  ["sessions.list", "sessions.list", notObject, (at) => (x) => at.sessions.list(x)],
  ...fields("sessions.list", (at, options) => at.sessions.list(options), {
    projectID: notName,
    directory: notName,
    parentID: notID.filter(([name]) => name !== "null"),
    agent: notName,
    key: notName,
    archived: notFlag,
    updated: [
      ...never,
      ["0", 0],
      ["a text", "x"],
      ["an unknown name", { form: 1 }],
      ["odd", { from: "x" }],
    ].filter(([name]) => name !== "a map" && name !== "a date" && name !== "a promise") as [
      string,
      unknown,
    ][],
    title: notText,
    order: [...notText, ["an odd text", "size"]],
    limit: [...notPositive, ["too many", 1001]],
    cursor: [...notText, ["an odd text", "nonsense"]],
    search: [["a text", "x"]],
  }),
  ["sessions.children", "session id", notRequiredID, (at) => (x) => at.sessions.children(x)],
  ["sessions.children", "sessions.children", notObject, (at) => (x) => at.sessions.children(at.id, x)],
  ["sessions.update", "session id", notRequiredID, (at) => (x) => at.sessions.update(x, { title: "x" })],
  [
    "sessions.update",
    "sessions.update",
    [...notObject, ["nothing", undefined]],
    (at) => (x) => at.sessions.update(at.id, x),
  ],
  ...fields("sessions.update", (at, options) => at.sessions.update(at.id, options), {
    title: notText,
    agent: notName.filter(([name]) => name !== "null"),
    model: [...notName.filter(([name]) => name !== "null"), ["no slash", "gpt"]],
    permission: [["an odd action", { edit: "maybe" }]],
    maxHistory: notPositive.filter(([name]) => name !== "null"),
    budget: [["-1", -1]],
    key: notName.filter(([name]) => name !== "null"),
    revert: [["null", null]],
    share: [["a url", { url: "javascript:1" }]],
    time: [["a time", { archived: 1 }]],
    summary: [["null", null]],
    directory: [["a path", "/"]],
    cost: [["0", 0]],
  }),
  ["sessions.touch", "session id", notRequiredID, (at) => (x) => at.sessions.touch(x)],
  ["sessions.fork", "session id", notRequiredID, (at) => (x) => at.sessions.fork(x)],
  ["sessions.fork", "sessions.fork", notObject, (at) => (x) => at.sessions.fork(at.id, x)],
  ...fields("sessions.fork", (at, options) => at.sessions.fork(at.id, options), {
    messageID: notID,
    title: notText,
  }),
  [
    "sessions.revert",
    "session id",
    notRequiredID,
    (at) => (x) => at.sessions.revert(x, { messageID: at.messageID }),
  ],
  ["sessions.revert", "sessions.revert", notRequiredObject, (at) => (x) => at.sessions.revert(at.id, x)],
  ...fields(
    "sessions.revert",
    (at, mark) => at.sessions.revert(at.id, { messageID: at.messageID, ...mark }),
    {
      messageID: notRequiredID,
      partID: notID,
    },
  ),
  ["sessions.unrevert", "session id", notRequiredID, (at) => (x) => at.sessions.unrevert(x)],
  ["sessions.share", "session id", notRequiredID, (at) => (x) => at.sessions.share(x, goodShare)],
  ["sessions.share", "sessions.share", notRequiredObject, (at) => (x) => at.sessions.share(at.id, x)],
  ...fields("sessions.share", (at, options) => at.sessions.share(at.id, { ...goodShare, ...options }), {
    url: [...notName, ["nothing", undefined], ["a path", "/share"], ["a script", "javascript:alert(1)"]],
    secret: [
      ...notName,
      ["nothing", undefined],
      ["a short one", "a".repeat(19)],
      ["a path", "../".repeat(9)],
    ],
    include: [
      ["null", null],
      ["a text", "tools"],
      ["a list", []],
      ["an unknown name", { system: true }],
      ["odd", { tools: "yes" }],
    ],
  }),
  ["sessions.unshare", "session id", notRequiredID, (at) => (x) => at.sessions.unshare(x)],
  ["sessions.archive", "session id", notRequiredID, (at) => (x) => at.sessions.archive(x)],
  ["sessions.archive", "sessions.archive", notObject, (at) => (x) => at.sessions.archive(at.id, x)],
  ...fields("sessions.archive", (at, options) => at.sessions.archive(at.id, options), { archived: notFlag }),
  ["sessions.remove", "session id", notRequiredID, (at) => (x) => at.sessions.remove(x)],
  ["sessions.stats", "session id", notRequiredID, (at) => (x) => at.sessions.stats(x)],
  [
    "sessions.search",
    "sessions.search",
    [...notRequiredObject.filter(([name]) => name !== "a text"), ["a typo", { txt: "x" }]],
    (at) => (x) => at.sessions.search(x),
  ],
  ...fields("sessions.search", (at, query) => at.sessions.search({ text: "x", ...query }), {
    text: [...notText, ["nothing", undefined]],
    limit: notPositive,
    kinds: [...notList, ["an odd kind", ["nonsense"]]],
    sessionID: notID,
    order: [["an odd text", "oldest"]],
  }),
  [
    "session.shell",
    "command",
    [
      ...notText,
      ["nothing", undefined],
      ["a blank one", " \n"],
      ["a NUL", "a\0b"],
      ["x", "x".repeat(100_001)],
    ],
    (at) => (x) => at.session.shell(x),
  ],
  ["session.shell", "session.shell", notObject, (at) => (x) => at.session.shell("true", x)],
  ...fields("session.shell", (at, options) => at.session.shell("true", options), {
    agent: notName,
    model: [...notName, ["no slash", "gpt"]],
    messageID: notID,
  }),
  ["session.append", "session.append", notRequiredObject, (at) => (x) => at.session.append(x)],
  ...fields("session.append", (at, message) => at.session.append({ role: "user", text: "a", ...message }), {
    role: [...notName, ["system", "system"], ["nothing", undefined]],
    text: [...notText, ["nothing", undefined]],
    id: notID,
    synthetic: notFlag,
    parts: [["both", [{ type: "text", text: "a" }]]],
  }),
  ...fields("session.append", (at, message) => at.session.append({ role: "user", ...message }), {
    parts: [...notList, ["an odd part", [{ type: "nonsense" }]], ["a part without text", [{ type: "text" }]]],
  }),
  ...fields("session.append", (at, message) => at.session.append({ role: "tool", tool: "t", ...message }), {
    tool: [...notName, ["nothing", undefined]],
    callID: notName,
    input: [...never, ["a text", "x"], ["a bigint in it", { deep: [10n] }]],
    output: notText,
    error: notText,
    title: notText,
    text: [["a text", "x"]],
  }),
  ["session.abort", "reason", notText, (at) => (x) => at.session.abort(x)],
  ["session.messages", "session.messages", notObject, (at) => (x) => at.session.messages(x)],
  ...fields("session.messages", (at, options) => at.session.messages(options), { last: notCount }),
  ["session.transcript", "session.transcript", notObject, (at) => (x) => at.session.transcript(x)],
  ...fields("session.transcript", (at, options) => at.session.transcript(options), { last: notCount }),
  ["session.setAgent", "agent", [...notName, ["nothing", undefined]], (at) => (x) => at.session.setAgent(x)],
  ["session.events", "session.events", notObject, (at) => (x) => at.session.events(x)],
  ...fields("session.events", (at, options) => at.session.events(options), {
    signal: [...never, ["{}", {}], ["a text", "x"]],
  }),
  ["stemma.events", "stemma.events", notObject, (at) => (x) => at.stemma.events(x)],
  ...fields("stemma.events", (at, options) => at.stemma.events(options), {
    signal: [["{}", {}]],
    scope: [
      ...notText,
      ["a text", "x"],
      ["an odd id", { sessionID: 5 }],
      ["two", { sessionID: "ses_a", treeID: "ses_a" }],
    ],
  }),
  ["stemma.subscribe", "stemma.subscribe", notObject, (at) => (x) => at.stemma.subscribe(x)],
  ...fields("stemma.subscribe", (at, options) => at.stemma.subscribe(options), {
    since: notText,
    bufferMax: notPositive,
    scope: [["null", null]],
  }),
  ["stemma.status", "session id", notRequiredID, (at) => (x) => at.stemma.status(x)],
  ["stemma.pendingTrust", "directory", notName, (at) => (x) => at.stemma.pendingTrust(x)],
  ["stemma.trust", "stemma.trust", notObject, (at) => (x) => at.stemma.trust(x)],
  ...fields("stemma.trust", (at, options) => at.stemma.trust(options), { directory: notName, hash: notText }),
  ["stemma.untrust", "directory", notName, (at) => (x) => at.stemma.untrust(x)],
  ["stemma.notices", "directory", notName, (at) => (x) => at.stemma.notices(x)],
  ["stemma.project", "directory", notName, (at) => (x) => at.stemma.project(x)],
  ["permissions.open", "session id", notID, (at) => (x) => at.permissions.open(x)],
  ["permissions.open", "permissions.open", notObject, (at) => (x) => at.permissions.open(at.id, x)],
  ...fields("permissions.open", (at, options) => at.permissions.open(undefined, options), {
    directory: notName,
  }),
  ["permissions.find", "permission id", notRequiredID, (at) => (x) => at.permissions.find(x)],
  [
    "permissions.reply",
    "session id",
    notRequiredID,
    (at) => (x) => at.permissions.reply(x, "per_1", { reply: "once" }),
  ],
  [
    "permissions.reply",
    "permission id",
    notRequiredID,
    (at) => (x) => at.permissions.reply(at.id, x, { reply: "once" }),
  ],
  [
    "permissions.reply",
    "permissions.reply",
    notRequiredObject,
    (at) => (x) => at.permissions.reply(at.id, "per_1", x),
  ],
  ["permissions.granted", "permissions.granted", notObject, (at) => (x) => at.permissions.granted(x)],
  ...fields("permissions.granted", (at, options) => at.permissions.granted(options), { directory: notName }),
  [
    "permissions.revoke",
    "grant id",
    [...notText, ["nothing", undefined]],
    (at) => (x) => at.permissions.revoke(x),
  ],
]

/** One row for each field of an options object. */
function fields(
  name: string,
  call: (at: Place, options: Record<string, unknown>) => unknown,
  table: Record<string, [string, unknown][]>,
): Row[] {
  return Object.entries(table).map(([field, wrong]) => [
    `${name}, ${field}`,
    field,
    wrong,
    (at) => (value) => call(at, { [field]: value }),
  ])
}

async function placeIn(scene: RunScene): Promise<Place> {
  const { stemma } = scene
  const session = await stemma.sessions.create()
  const reply = await session.prompt("Hello")
  return {
    sessions: stemma.sessions,
    session,
    stemma,
    permissions: stemma.permissions,
    id: session.id,
    messageID: reply.message.parentID,
  }
}

/** Everything that a wrong call might have changed. */
async function stateOf({ stemma }: RunScene): Promise<unknown> {
  return { cursor: await stemma.store.cursor(), sessions: await stemma.store.sessions() }
}

function expectRefused(error: unknown, named: string, what: string): void {
  if (!StemmaError.is(error)) throw new Error(`${what} is not refused with a StemmaError.`, { cause: error })
  expect(error.code, `${what}: ${error.message}`).toBe("invalid")
  expect(error.message, what).toMatch(/^\S.{15,}\.$/s)
  expect(error.message.length, what).toBeLessThan(400)
  expect(error.message, what).not.toMatch(/undefined|\[object/)
  expect(isNamed(error.message, named), `${what} names ${named}: ${error.message}`).toBe(true)
}

/** For a value that cannot be read or that the store refuses, the error names the whole argument. */
function isNamed(message: string, named: string): boolean {
  return message.includes(named) || /cannot be read|message for session.append|cursor/.test(message)
}

test("a wrong argument is refused with its name, and nothing changes", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const at = await placeIn(scene)
  const before = await stateOf(scene)
  for (const [name, named, wrong, callOf] of rows) {
    const call = callOf(at)
    for (const [value, given] of wrong) {
      const what = `${name} with ${value}`
      expectRefused(await rejection((async () => call(given))()).catch(() => what), named, what)
    }
  }
  expect(await stateOf(scene)).toEqual(before)
  expect((await at.session.prompt("Still there?")).text).toMatch(/^Answer/)
})

const wrongPrompts: [string, unknown, unknown?][] = [
  ...notText.map(([name, value]): [string, unknown] => [`the prompt ${name}`, value]),
  ["the prompt nothing", undefined],
  ["a blank prompt", " \n\t"],
  ["an empty prompt", ""],
  ["only ignored text", [{ type: "text", text: "For people.", ignored: true }]],
  ["only an agent", [{ type: "agent", name: "build" }]],
  [
    "only blank texts",
    [
      { type: "text", text: "" },
      { type: "text", text: " " },
    ],
  ],
  ["a part without text", [{ type: "text" }]],
  ["a part with another's type", [{ type: "reasoning", text: "x", time: { start: 0 } }]],
  ["an odd part id", [{ type: "text", text: "a", id: "x" }]],
  ["a part that cannot be stored", [{ type: "text", text: "a", metadata: { deep: [() => 1] } }]],
  ["a text that throws", [Object.defineProperty({ type: "text" }, "text", { get: () => throwing })]],
  [
    "two parts with one id",
    [1, 2].map(() => ({ type: "text", text: "a", id: "prt_01k000000000000000000000ab" })),
  ],
  ["a file without a name", [{ type: "file", mime: "text/plain", url: "file:///%00" }]],
  ...notObject.map(([name, value]): [string, unknown, unknown] => [`the options ${name}`, "x", value]),
  ...Object.entries({
    messageID: notID,
    delivery: [...notText, ["an odd text", "later"] as [string, unknown]],
    agent: notName,
    model: notName,
    system: notText,
    tools: [...never, ["a text", "read"], ["a number in it", { read: 1 }]] as [string, unknown][],
    variant: notText,
    modle: [["a text", "scripted/m"]] as [string, unknown][],
  }).flatMap(([field, wrong]) =>
    wrong.map(([name, value]): [string, unknown, unknown] => [`${field}, ${name}`, "x", { [field]: value }]),
  ),
]

test("a wrong prompt rejects the result of `prompt`, in every way of waiting for it", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const at = await placeIn(scene)
  const before = await stateOf(scene)
  for (const [what, input, options] of wrongPrompts) {
    const run = at.session.prompt(input, options)
    const events = run[Symbol.asyncIterator]()
    for (const wait of [run.admitted, run.messageID, run, events.next()]) {
      expectRefused(await rejection(wait).catch(() => what), "prompt", what)
    }
  }
  expect(await stateOf(scene)).toEqual(before)
  expect((await at.session.prompt("Still there?")).text).toMatch(/^Answer/)
})

test("an unknown option is an error with its name and the known options", async () => {
  await using scene = await runScene({ script: [{ text: "Hi." }] })
  const { session, sessions } = await placeIn(scene)
  const prompt = (await rejection(session.prompt("x", { modle: "a/b" }))) as Error
  expect(prompt.message).toBe(
    "session.prompt has no option modle. Its options are: messageID, delivery, agent, model, system, tools, variant, references, unattended.",
  )
  const create = (await rejection(sessions.create({ files: "a.txt" }))) as Error
  expect(create.message).toBe(
    'Wrong option files for sessions.create: expected a list of paths, such as ["notes.md"].',
  )
})

describe("a messageID that is already in the history", () => {
  test("is refused unless it is the same prompt", async () => {
    await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
    const { session, messageID } = await placeIn(scene)
    const appended = await session.append({ role: "user", text: "Appended" })
    const [, answer] = await session.messages()
    const before = await stateOf(scene)
    for (const [id, text] of [
      [answer.message.id, "Hello"],
      [messageID, "Another text"],
      [appended.message.id, "Appended"],
      [appended.message.id, "Another text"],
    ]) {
      const error = await rejection(session.prompt(text, { messageID: id }))
      expect(error).toMatchObject({ code: "conflict" })
      expect((error as Error).message).toContain(`has another message with the id ${id}`)
    }
    expect(await stateOf(scene)).toEqual(before)
    expect((await session.prompt("Hello", { messageID })).text).toBe("Answer 0.")
    expect((await session.prompt("Next")).text).toBe("Answer 1.")
  })

  test("is refused in a fork that ends with it", async () => {
    await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
    const { session, sessions, messageID } = await placeIn(scene)
    const [, answer] = await session.messages()
    const fork = await sessions.fork(session.id, { messageID: answer.message.id })
    expect(await rejection(fork.prompt("Hello", { messageID }))).toMatchObject({ code: "conflict" })
    expect((await fork.prompt("Hello")).text).toBe("Answer 1.")
  })
})

test("changes to argument objects after the call have no effect", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const { session, sessions, id } = await placeIn(scene)
  const metadata = { deep: { word: "original" } }
  const parts: Untyped = [{ type: "text", text: "original", metadata }]
  const options: Untyped = { system: "original", tools: { bash: false } }
  const run = session.prompt(parts, options)
  parts[0].text = "changed"
  parts.push({ type: "text", text: "added" })
  metadata.deep.word = "changed"
  options.system = "changed"
  options.tools.bash = true
  options.messageID = "msg_changed"
  const { message } = await run
  const asked = (await session.messages()).find((item: Untyped) => item.message.id === message.parentID)
  expect(asked.message).toMatchObject({ system: "original", tools: { bash: false } })
  expect(asked.parts).toMatchObject([{ text: "original", metadata: { deep: { word: "original" } } }])
  expect(asked.parts).toHaveLength(1)

  const input = { deep: ["original"] }
  const result: Untyped = { role: "tool", tool: "original", input, output: "original" }
  const appending = session.append(result)
  result.role = "user"
  result.output = "changed"
  input.deep.push("changed")
  const item = await appending
  expect(item.message.role).toBe("assistant")
  expect(item.parts[0].state).toMatchObject({ input: { deep: ["original"] }, output: "original" })

  const fresh: Untyped = { title: "original", files: [], permission: { edit: { "*.md": "allow" } } }
  const making = sessions.create(fresh)
  fresh.title = "changed"
  fresh.id = "ses_changed"
  fresh.files.push("missing.md")
  fresh.permission.edit["*.md"] = "deny"
  const made = await making
  expect(made.id).not.toBe("ses_changed")
  expect(await made.info()).toMatchObject({ title: "original", permission: [{ action: "allow" }] })

  const mark: Untyped = { messageID: message.parentID }
  const reverting = sessions.revert(id, mark)
  mark.messageID = "msg_changed"
  expect((await reverting).session.revert.messageID).toBe(message.parentID)
})

test("an option that is undefined counts as absent", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const { sessions } = scene.stemma
  const session = await sessions.create({ id: undefined, title: undefined, files: undefined })
  const reply = await session.prompt("Hello", { messageID: undefined, system: undefined, tools: undefined })
  expect(reply.text).toBe("Answer 0.")
  expect(await session.messages({ last: undefined })).toHaveLength(2)
  expect((await sessions.update(session.id, { title: undefined, budget: undefined })).budget).toBeUndefined()
})

const tool: Tool = {
  name: "weather",
  description: "Tells the weather.",
  input: z.object({ city: z.string() }),
  replay: "safe",
  writes: false,
  wants: async () => [],
  execute: async () => ({ title: "", output: "" }),
}

describe("openStemma", () => {
  const functions: [string, unknown][] = [
    ["null", null],
    ["0", 0],
    ["a text", "x"],
    ["{}", {}],
  ]
  const wrongTool = (fields: Record<string, unknown>): [string, unknown] => [
    `a tool with ${Object.keys(fields)[0]} ${String(Object.values(fields)[0])}`,
    [{ ...tool, ...fields }],
  ]
  const table: Record<string, [string, unknown][]> = {
    directory: notName,
    store: [
      ...never.filter(([name]) => name !== "a map" && name !== "a date" && name !== "a promise"),
      ["0", 0],
      ["a text", "x"],
      ["[]", []],
      ["a part of a store", { commit: async () => {} }],
    ],
    config: [
      ...never.filter(([name]) => name !== "a map" && name !== "a date" && name !== "a promise"),
      ["0", 0],
      ["a text", "x"],
      ["[]", []],
      ["a function in it", { model: () => 1 }],
    ],
    models: [...functions.slice(0, 3), ["a model itself", { mine: createScriptedModel([]) }]],
    tools: [
      ...notList,
      ["a tool that is none", [{}]],
      ["two of one name", [tool, { ...tool }]],
      ["tools by name", { weather: tool }],
      wrongTool({ name: "two words" }),
      wrongTool({ name: "n".repeat(65) }),
      wrongTool({ description: " " }),
      wrongTool({ description: undefined }),
      wrongTool({ input: { type: "object" } }),
      wrongTool({ input: undefined }),
      wrongTool({ input: z.string() }),
      wrongTool({ input: z.object({ when: z.date() }) }),
      wrongTool({ replay: "always" }),
      wrongTool({ writes: undefined }),
      wrongTool({ wants: undefined }),
      wrongTool({ execute: "x" }),
    ],
    recover: notFlag,
    interactive: notFlag,
    snapshots: notFlag,
    onPermission: functions,
    onWarning: functions,
    fetch: functions,
    env: [...functions.slice(0, 3), ["[]", [null]], ["a number in it", { HOME: 5 }]],
    data: [...notName, ["a NUL", "a\0b"]],
    clock: [...functions, ["a time", new Date(0)]],
    timing: [
      ...functions.slice(0, 3),
      ["an odd time", { retryBaseMs: -1 }],
      ["an unknown name", { stepIdleMs: 1 }],
    ],
    dirctory: [["a path", "."]],
  }

  test.each(Object.entries(table))("refuses a wrong %s", async (field, wrong) => {
    for (const [value, given] of wrong) {
      const what = `${field} with ${value}`
      const options = { data: "/dev/null/none", store: { driver: "memory" }, [field]: given } as StemmaOptions
      const error = await rejection(openStemma(options)).catch(() => what)
      expectRefused(error, field, what)
    }
  })

  test("refuses unknown options", async () => {
    for (const [value, given] of [...never, ...numbers, ["a text", "x"], ["a list", []]] as [
      string,
      unknown,
    ][]) {
      expectRefused(await rejection(openStemma(given as never)).catch(() => value), "openStemma", value)
    }
  })

  test("accepts tools that are class instances, and copies the config", async () => {
    class Weather {
      readonly name = "weather"
      readonly description = "Tells the weather."
      readonly input = z.object({ city: z.string() })
      readonly replay = "safe" as const
      readonly writes = false
      async wants() {
        return []
      }
      async execute() {
        return { title: this.name, output: "Rain." }
      }
    }
    const tools: Tool[] = [new Weather()]
    const config = { model: "scripted/m", agent: { build: { prompt: "original" } } }
    await using scene = await runScene({
      tools,
      config,
      script: [{ calls: [{ tool: "weather", input: { city: "Oslo" } }] }, { text: "It rains." }],
    })
    tools.pop()
    config.agent.build.prompt = "changed"
    const session = await scene.stemma.sessions.create()
    expect((await session.prompt("How is it?")).text).toBe("It rains.")
    expect(await session.toolsUsed()).toEqual(["weather"])
    expect(JSON.stringify(scene.model.requests[0])).toContain("original")
  })
})
