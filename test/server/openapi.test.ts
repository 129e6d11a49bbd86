import { readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { pathNames } from "../../src/protocol/routes/index.ts"
import { createServer, type StemmaServer } from "../../src/server/index.ts"
import { createDocument } from "../../src/server/openapi/document.ts"
import { exampleCall } from "../../src/server/openapi/example-call.ts"
import type { OpenApiDocument, Operation } from "../../src/server/openapi/openapi.ts"
import { documentedTables } from "../../src/server/openapi/tables.ts"
import { staleDocuments } from "../../tools/openapi.ts"
import { type RunScene, runScene } from "../support/run-scene.ts"

const document = JSON.parse(readFileSync("schema/openapi.json", "utf8")) as OpenApiDocument
const routes = documentedTables.flatMap(({ routes: table }) =>
  Object.values(table).flatMap((group) => Object.values(group)),
)

interface Listed {
  path: string
  method: string
  operation: Operation
}

/** Every operation at its path and at its aliases. */
const operations: Listed[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).flatMap(([method, operation]) =>
    [path, ...(operation["x-aliases"] ?? [])].map((at) => ({ path: at, method, operation })),
  ),
)

function resolve(reference: string): unknown {
  expect(reference).toMatch(/^#\//)
  const steps = reference.slice(2).split("/")
  return steps.reduce<unknown>(
    (at, step) =>
      (at as Record<string, unknown> | undefined)?.[step.replaceAll("~1", "/").replaceAll("~0", "~")],
    document,
  )
}

function* referencesIn(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return
  for (const [key, one] of Object.entries(value)) {
    if (key === "$ref" && typeof one === "string") yield one
    else yield* referencesIn(one)
  }
}

function* choicesIn(value: unknown): Generator<unknown[]> {
  if (typeof value !== "object" || value === null) return
  for (const [key, one] of Object.entries(value)) {
    if (/^(oneOf|anyOf)$/.test(key) && Array.isArray(one)) yield one
    yield* choicesIn(one)
  }
}

describe("the OpenAPI document", () => {
  test("matches the route tables, and so does the list in docs/http.md", () => {
    expect(staleDocuments()).toEqual([])
  })

  test("is generated deterministically", () => {
    expect(JSON.stringify(createDocument(documentedTables))).toBe(
      JSON.stringify(createDocument(documentedTables)),
    )
  })

  test("is valid OpenAPI 3.1: required fields are present, and referenced names are declared", () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/)
    expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) })
    const tags = document.tags.map(({ name }) => name)
    expect(new Set(tags).size).toBe(tags.length)
    for (const { operation } of operations) {
      expect(operation.summary, operation.operationId).not.toBe("")
      expect(operation.tags.filter((tag) => !tags.includes(tag))).toEqual([])
      expect(Object.keys(operation.responses).length).toBeGreaterThan(1)
      for (const status of Object.keys(operation.responses)) expect(status).toMatch(/^[2-5]\d\d$/)
    }
    for (const scheme of document.security.flatMap((one) => Object.keys(one)))
      expect(document.components.securitySchemes).toHaveProperty(scheme)
    for (const kind of Object.values(document.components))
      for (const name of Object.keys(kind)) expect(name).toMatch(/^[\w.-]+$/)
  })

  test("gives each operation a unique id", () => {
    const own = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    )
    expect(own.filter((name, at) => own.indexOf(name) !== at)).toEqual([])
  })

  test("has no dangling reference and no unused schema", () => {
    const references = new Set(referencesIn(document))
    expect([...references].filter((one) => resolve(one) === undefined)).toEqual([])
    const schemas = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)
    expect(schemas.filter((one) => !references.has(one))).toEqual([])
  })

  test("declares exactly the parameters of each path", () => {
    for (const { path, operation } of operations) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
      const declared = (operation.parameters ?? []).filter((one) => one.in === "path")
      expect(declared.map(({ name }) => name).sort(), path).toEqual(named.sort())
      expect(declared.every(({ required }) => required)).toBe(true)
    }
  })

  test("contains every route of every table, with an error schema for each error status", () => {
    for (const route of routes) {
      const path = pathNames(route.path).reduce((at, name) => at.replace(`:${name}`, `{${name}}`), route.path)
      const found = operations.find((one) => one.path === path && one.method === route.method.toLowerCase())
      expect(found, `${route.method} ${path}`).toBeDefined()
      expect(found!.operation.security, path).toEqual(route.isPublic ? [] : undefined)
      const statuses = Object.keys(found!.operation.responses)
      expect(statuses.includes("401"), path).toBe(!route.isPublic)
      if (route.body) for (const status of ["408", "413", "415"]) expect(statuses).toContain(status)
    }
  })

  test("has no two paths that differ only in parameter names", () => {
    const shapes = Object.keys(document.paths).map((path) => path.replace(/\{\w+\}/g, "{}"))
    expect(shapes.filter((shape, at) => shapes.indexOf(shape) !== at)).toEqual([])
  })

  test("names the alias of a route in the operation, and refers to no path", () => {
    expect(document.paths["/sessions/{id}/tree"]!.get!["x-aliases"]).toEqual(["/session/{id}/tree"])
    expect(document.paths).not.toHaveProperty("/session/{id}/tree")
    expect([...referencesIn(document)].filter((one) => !one.startsWith("#/components/"))).toEqual([])
  })

  test("has a server, and names the bearer token before Basic", () => {
    expect(document.servers).toEqual([{ url: "/", description: expect.any(String) }])
    expect(document.security.map((one) => Object.keys(one))).toEqual([["bearer"], ["basic"]])
    expect(Object.keys(document.components.securitySchemes)).toEqual(["bearer", "basic"])
  })

  test("has no choice of one", () => {
    expect([...choicesIn(document)].filter((choice) => choice.length < 2)).toEqual([])
  })
})

describe("the server", () => {
  let scene: RunScene
  let server: StemmaServer

  beforeAll(async () => {
    scene = await runScene()
    server = createServer(scene.stemma, { token: "a-token-that-nobody-knows" })
    const { url } = await server.listen({ port: 0 })
    base = url
  })
  afterAll(async () => {
    await server.close()
    await scene[Symbol.asyncDispose]()
  })
  let base = ""

  test("serves the document to every caller with access", async () => {
    const response = await fetch(`${base}/openapi.json`)
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(await response.json()).toEqual(document)
  })

  test("answers on every path of the document", async () => {
    for (const { path, method } of operations) {
      const url = `http://in.process${path.replace(/\{\w+\}/g, "-")}`
      const response = await server.app.fetch(new Request(url, { method: method.toUpperCase() }))
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream")
      if (isStream) await response.body!.cancel()
      const text = isStream ? "" : await response.text()
      expect(response.status, `${method} ${path}`).not.toBe(405)
      expect(text, `${method} ${path}`).not.toContain("There is no route at this path")
    }
  })

  test("shows the document as a page without scripts, inline styles or external resources", async () => {
    const response = await fetch(`${base}/docs`)
    const page = await response.text()
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'")
    const withoutExamples = page.replaceAll("http://127.0.0.1:4096", "")
    expect(withoutExamples).not.toMatch(/<script|<style|\sstyle=|\son\w+=|javascript:|https?:\/\//i)
    const ids = new Set([...page.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1]!))
    const links = [...page.matchAll(/href="([^"]+)"/g)].map((match) => match[1]!)
    const anchors = links.filter((one) => one.startsWith("#")).map((one) => one.slice(1))
    expect(anchors.filter((one) => !ids.has(one))).toEqual([])
    expect(new Set(links.filter((one) => !one.startsWith("#")))).toEqual(
      new Set(["/docs/style.css", "/openapi.json"]),
    )
    for (const { operation } of operations) expect(ids).toContain(operation.operationId)
    for (const name of Object.keys(document.components.schemas)) expect(ids).toContain(`schema-${name}`)
  })

  test("names types in words that a reader knows", async () => {
    const page = await (await fetch(`${base}/docs`)).text()
    expect(page).not.toMatch(/anything &#38; anything|undefined|\[object/)
    expect(await (await fetch(`${base}/docs/style.css`)).text()).not.toMatch(
      /overflow-wrap: anywhere|word-break/,
    )
  })

  test("shows an example for each route, which the server takes", async () => {
    const page = await (await fetch(`${base}/docs`)).text()
    const session = await scene.stemma.sessions.create()
    for (const { path, method, operation } of operations) {
      const call = exampleCall(document, { method: method.toUpperCase(), path, operation })
      const shown = call.curl.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)
      if (document.paths[path]) expect(page, path).toContain(`<pre><code>${shown}</code></pre>`)
      const url = `http://in.process${call.path.replace(/ses_\w+/, session.id)}`
      const init = { method: method.toUpperCase(), signal: AbortSignal.timeout(20_000) }
      const sent = call.body === undefined ? {} : { body: JSON.stringify(call.body) }
      const headers = { "content-type": "application/json" }
      const response = await server.app.fetch(new Request(url, { ...init, ...sent, headers }))
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) await response.body!.cancel()
      else {
        const text = await response.text()
        expect(response.status, `${call.curl}\n${text}`).not.toBe(400)
        expect(text).not.toContain("There is no route at this path")
      }
      if (method === "delete") await scene.stemma.sessions.create({ id: session.id }).catch(() => {})
    }
  })

  test("serves the page's style sheet with a CSS content type", async () => {
    const response = await fetch(`${base}/docs/style.css`)
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("text/css; charset=utf-8")
    expect(await response.text()).toContain("color-scheme")
  })
})
