import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { route } from "../../protocol/routes/index.ts"
import type { Call } from "../http/call.ts"
import type { Handlers } from "../http/mount.ts"
import type { OpenApiDocument } from "./openapi.ts"

/** The OpenAPI document, and a page that shows it. */
export const documentRoutes = {
  openapi: route({
    method: "GET",
    path: "/openapi.json",
    summary: "This OpenAPI document.",
    kind: "bytes",
    media: ["application/json"],
    isPublic: true,
  }),
  page: route({
    method: "GET",
    path: "/docs",
    summary: "This document as an HTML page.",
    kind: "bytes",
    media: ["text/html"],
    isPublic: true,
  }),
  style: route({
    method: "GET",
    path: "/docs/style.css",
    summary: "The style sheet of the page.",
    kind: "bytes",
    media: ["text/css"],
    isPublic: true,
  }),
}

/** Stored in the source tree and in the package, so that nothing is generated when the server starts. */
const file = join(fileURLToPath(import.meta.url), "../../../../schema/openapi.json")

export function documentHandlers(): Handlers<typeof documentRoutes> {
  let text: Promise<string> | undefined
  let html: Promise<string> | undefined
  const read = () => {
    text ??= readFile(file, "utf8")
    return text
  }
  const write = async () => {
    const { pageOf } = await import("./page.ts")
    return pageOf(JSON.parse(await read()) as OpenApiDocument)
  }
  return {
    openapi: async (_, call) => send(call, { body: await read(), type: "application/json" }),
    page: async (_, call) => {
      html ??= write()
      return send(call, { body: await html, type: "text/html; charset=utf-8" })
    },
    style: async (_, call) => {
      const { style } = await import("./style.ts")
      return send(call, { body: style, type: "text/css; charset=utf-8" })
    },
  }
}

function send(call: Call, { body, type }: { body: string; type: string }): Response {
  return new Response(body, {
    headers: { ...call.headers, "content-type": type, "cache-control": "no-cache" },
  })
}
