import { once } from "node:events"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { startChild } from "../support/child-process.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const token = "token-of-the-body-test"
const bytes = 18 * 1024 * 1024
const repeat = (text: string) => text.repeat(Math.floor(bytes / text.length))
const text = '{"type":"text","text":"a"}'

/** Bodies of 18 MB that take long to parse or to check, and the answer that each gets. */
const bodies: Record<string, { body: () => string; says: string | number }> = {
  "open lists": { body: () => repeat("["), says: "nested deeper than 200 levels" },
  "open objects": { body: () => repeat('{"a":'), says: "nested deeper than 200 levels" },
  "a list of numbers": { body: () => `[${repeat("1,")}1]`, says: "more than 50000 values" },
  "parts that are numbers": { body: () => `{"parts":[${repeat("1,")}1]}`, says: "more than 50000 values" },
  "parts that are empty": { body: () => `{"parts":[${repeat("{},")}{}]}`, says: "more than 50000 values" },
  "very many texts": {
    body: () => `{"parts":[${repeat(`${text},`)}${text}]}`,
    says: "more than 50000 values",
  },
  "very many keys": {
    body: () => `{${Array.from({ length: bytes / 14 }, (_, key) => `"k${key}":1`).join(",")}}`,
    says: "more than 50000 values",
  },
  "a long text": {
    body: () => `{"parts":[{"type":"text","text":"${repeat("word ")}"}]}`,
    says: "4000000 characters",
  },
  "a text of escapes": {
    body: () => `{"parts":[{"type":"text","text":"${repeat('\\"')}"}]}`,
    says: "4000000 characters",
  },
  "white space": { body: () => `{"parts":[${text}]${repeat(" ")}}`, says: 202 },
  "a picture": {
    body: () =>
      `{"parts":[${text},{"type":"file","mime":"image/png","url":"data:image/png;base64,${repeat("AAAA")}"}]}`,
    says: 202,
  },
}

/**
 * In CPU time of the thread that serves everybody; the time until others are answered also depends on the machine.
 * Without the bounds the slowest of these bodies takes several seconds or all memory.
 */
const cpuMsMax = 600

test("no body stops the server for others, or fills its memory", async () => {
  await using temporary = await temporaryDirectory()
  const [directory, data] = [join(temporary.path, "project"), join(temporary.path, "data")]
  await mkdir(directory)
  await using child = startChild("body-child.ts", {
    output: join(temporary.path, "output"),
    args: [directory, data, token],
  })
  await child.ready
  const [{ url, sessionID }] = child.lines<{ url: string; sessionID: string }>() as [
    { url: string; sessionID: string },
  ]
  const cpuMs = async (): Promise<number> => {
    const answer = once(child.process, "message")
    child.process.send("cpu")
    return (await answer)[0] as number
  }
  const send = async (path: string, body: string) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const response = await fetch(url + path, { method: "POST", headers, body })
    return { status: response.status, text: await response.text() }
  }
  await send(`/sessions/${sessionID}/prompt`, `{"parts":[${text}]}`)
  const check = async (
    what: string,
    path: string,
    { body, says }: { body: string; says: string | number },
  ) => {
    await cpuMs()
    const answer = await send(path, body)
    const used = await cpuMs()
    if (typeof says === "number") expect({ what, status: answer.status }).toEqual({ what, status: says })
    else expect({ what, ...answer }).toMatchObject({ what, status: 400, text: expect.stringContaining(says) })
    expect({ what, used, isShort: used < cpuMsMax }).toEqual({ what, used, isShort: true })
  }
  for (const [what, { body, says }] of Object.entries(bodies)) {
    await check(what, `/sessions/${sessionID}/prompt`, { body: body(), says })
  }
  const others = [
    `/session/${sessionID}/prompt_async`,
    "/session",
    "/api/agents/build/chat",
    `/sessions/${sessionID}/share`,
  ]
  for (const path of others) {
    await check(path, path, { body: repeat("["), says: "nested deeper than 200 levels" })
    await check(path, path, { body: `{"parts":[${repeat("1,")}1]}`, says: "more than 50000 values" })
  }
})
