import { expect, test } from "vitest"
import { createID, noTokens } from "../protocol/index.ts"
import { Commit } from "./commit.ts"
import { storable } from "./prepare.ts"
import { prepareStreaming } from "./prepare-streaming.ts"

const sessionID = createID("session", 5)
const messageID = createID("message", 5)
const partID = createID("part", 5)
const tokens = { ...noTokens(), input: 3, output: 2 }
const text = { id: partID, type: "text", text: "He\0llo \ud800", time: { start: 5, end: 9 } }
const user = {
  id: messageID,
  role: "user",
  time: { created: 5 },
  agent: "build",
  model: { providerID: "p", modelID: "m" },
}
const assistant = {
  id: messageID,
  role: "assistant",
  time: { created: 5, completed: 8 },
  parentID: createID("message", 5),
  modelID: "m",
  providerID: "p",
  agent: "build",
  path: { cwd: "/a", root: "/" },
  cost: 0.25,
  tokens,
  finish: "stop",
}

const plain = { id: partID, type: "text", text: "He\0llo \ud800" }

/** The operations of streaming, which are checked without the schema. */
const streaming: object[] = [
  { op: "piece.add", sessionID, messageID, partID, field: "text", offset: 4, text: "mo\0re" },
  { op: "piece.add", sessionID, messageID, partID, field: "output", offset: 0, text: "" },
  { op: "part.put", sessionID, messageID, part: plain },
]

/** Other operations of an answer, which the schema checks. */
const others: object[] = [
  { op: "part.put", sessionID, messageID, part: text },
  { op: "part.put", sessionID, messageID, part: { ...plain, text: "" }, grown: "keep" },
  { op: "part.put", sessionID, messageID, part: { ...text, type: "reasoning" } },
  { op: "message.append", sessionID, message: user, parts: [text], sealed: true },
  { op: "message.append", sessionID, message: assistant, parts: [{ id: partID, type: "step-start" }] },
  { op: "message.seal", sessionID, messageID, message: assistant },
  { op: "inbox.take", sessionID, itemID: "msg_x" },
  { op: "session.patch", sessionID, add: { cost: 0.5, tokens } },
]

function fromSchema(commit: unknown): unknown {
  const parsed = Commit.safeParse(commit)
  return parsed.success ? storable(parsed.data) : "refused"
}

test.each(streaming.map((op) => [JSON.stringify(op).slice(0, 70), op]))(
  "%s is prepared as by the schema",
  (_, op) => {
    const commit = { ops: [op, op], fences: { [sessionID]: 3 } }
    expect(prepareStreaming(commit as never)).toEqual(fromSchema(commit))
  },
)

test.each(others.map((op) => [JSON.stringify(op).slice(0, 70), op]))("%s is left to the schema", (_, op) => {
  expect(fromSchema({ ops: [op] })).not.toBe("refused")
  expect(prepareStreaming({ ops: [op] } as never)).toBeUndefined()
  expect(prepareStreaming({ ops: [streaming[0], op] } as never)).toBeUndefined()
})

/** Texts of every length around the one from which on texts are cleaned another way. */
const texts = Array.from({ length: 32 }, (_, length) => `${"x".repeat(length)}\0\udc00`)

const strange: unknown[] = [
  ...[undefined, null, "", "x", 0, -0, -1, 1.5, 1e300, Number.NaN, true, [], {}, [text], new Date(5)],
  ...[...texts, "\u{1f642}", 1, 2 ** 53 - 1, 2 ** 53, Number.POSITIVE_INFINITY],
  { toJSON: () => "x" },
  Object.assign(Object.create({ inherited: 1 }), { start: 1 }),
]

/**
 * The value with each field of it, at any depth, taken away, replaced by something strange, or joined by another one.
 */
function* mutations(value: unknown): Generator<unknown> {
  yield* strange
  if (typeof value !== "object" || value === null || Array.isArray(value)) return
  yield { ...value, extra: 1 }
  yield { ...value, ["__proto__"]: 1 }
  for (const [name, field] of Object.entries(value)) {
    const { [name]: _, ...rest } = value as Record<string, unknown>
    yield rest
    for (const mutated of mutations(field)) yield { ...value, [name]: mutated }
  }
}

test("a changed operation is left to the schema, or prepared as by the schema", () => {
  let taken = 0
  for (const op of [...streaming, ...others]) {
    for (const mutated of mutations(op)) {
      const commit = { ops: [mutated] }
      const hot = prepareStreaming(commit as never)
      if (hot === undefined) continue
      taken++
      expect(hot, JSON.stringify(commit)).toEqual(fromSchema(commit))
    }
  }
  expect(taken).toBeGreaterThan(100)
})

test.each([
  undefined,
  null,
  5,
  [],
  { ops: [] },
  { ops: [streaming[0]], fences: { x: 1 } },
  { ops: [streaming[0]], expectSeq: {} },
])("%j is left to the schema", (commit) => {
  expect(prepareStreaming(commit as never)).toBeUndefined()
})
