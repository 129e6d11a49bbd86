import { createContext, runInContext } from "node:vm"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import { expect, it } from "vitest"
import { createServer } from "../../src/server/index.ts"
import { runScene } from "../support/run-scene.ts"

/** The size of the client in a page, minified and compressed. Most of it is zod, which the route table needs. */
const kibMax = 60

/** Only globals that every browser has. */
const webGlobals = {
  AbortController,
  AbortSignal,
  clearTimeout,
  crypto,
  DOMException,
  fetch,
  Headers,
  queueMicrotask,
  ReadableStream,
  Request,
  Response,
  setTimeout,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
}

async function bundle(options: { minify: boolean }): Promise<string> {
  const build = await rolldown({ input: "src/client/index.ts", platform: "browser" })
  const { output } = await build.generate({ format: "iife", name: "stemma", ...options })
  await build.close()
  expect(output).toHaveLength(1)
  return output[0].code
}

it("a browser bundle contains no Node modules and no Node globals, and is small", async () => {
  const code = await bundle({ minify: false })
  expect(
    code.match(/["'`]node:[\w/]+["'`]|\brequire\(|\bprocess\.[a-z]|\bBuffer\b|\b__dirname\b/g),
  ).toBeNull()
  const kib = gzipSync(await bundle({ minify: true })).length / 1024
  process.stdout.write(`the client in a browser: ${kib.toFixed(1)} KiB\n`)
  expect(kib).toBeLessThan(kibMax)
})

it("the bundle calls a server with browser globals only", async () => {
  await using scene = await runScene({ script: [{ text: "Hello there" }] })
  const token = "0123456789abcdef0123"
  await using server = createServer(scene.stemma, { token, drainMs: 50 })
  const { url } = await server.listen({ port: 0 })
  // A page has no `process`, no `Buffer`, no `require` and no modules.
  const context = createContext({ ...webGlobals, url, token }, { codeGeneration: { strings: false } })
  runInContext(await bundle({ minify: true }), context)
  const result = runInContext(
    `(async () => {
      const client = stemma.createClient({ baseUrl: url, token })
      const { id } = await client.sessions.create({ title: "From a page" })
      const session = client.session(id)
      const replica = session.replica()
      await replica.ready
      const { text } = await session.ask({ text: "hi" })
      while (replica.messages().length < 2 || replica.status.type !== "idle") {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      const shown = replica.messages().map(({ parts }) => parts.map((part) => part.text ?? "").join(""))
      replica.close()
      const error = await client.session("ses_none").info().catch((thrown) => thrown)
      return JSON.stringify({ text, shown, title: replica.session.title, code: error.code })
    })()`,
    context,
  ) as Promise<string>
  expect(JSON.parse(await result)).toEqual({
    text: "Hello there",
    shown: ["hi", "Hello there"],
    title: "From a page",
    code: "not_found",
  })
})
