import { readFileSync } from "node:fs"
import { expect } from "vitest"
import type { OpenApiDocument, Operation } from "../../../src/server/openapi/openapi.ts"
import { type HttpScene, httpScene, token } from "./http-scene.ts"
import { exchange, type RawAnswer } from "./safety-socket.ts"

export const authorization = `Authorization: Bearer ${token}`

export interface SafetyScene extends HttpScene {
  port: number
  /** The Host header for the server. */
  host: string
  /** Sends these lines on a new connection, after the request line and before `Connection: close`. */
  say(request: string, ...headers: string[]): Promise<RawAnswer>
  /** Sends a request with a JSON body and the token. */
  sayJson(request: string, body: string): Promise<RawAnswer>
}

export async function safetyScene(options: Parameters<typeof httpScene>[0] = {}): Promise<SafetyScene> {
  const scene = await httpScene(options)
  const port = Number(new URL(scene.url).port)
  const host = `Host: 127.0.0.1:${port}`
  const json = ["Accept: application/json", "Content-Type: application/json"]
  return {
    ...scene,
    port,
    host,
    sayJson: (request, body) =>
      exchange(
        port,
        [request, host, authorization, ...json, `Content-Length: ${Buffer.byteLength(body)}`],
        body,
      ),
    say: (request, ...headers) => exchange(port, [request, ...headers]),
  }
}

/** Requirements on every refusal: its status, the common error shape, and the security headers. */
export function expectRefusal(answer: RawAnswer, status: number): void {
  expect(answer.status, answer.text.slice(0, 500)).toBe(status)
  expectSafeHeaders(answer.headers)
  expect(JSON.parse(answer.body)).toMatchObject({
    code: expect.stringMatching(/^[a-z_]+$/),
    message: expect.stringMatching(/^\S.{10}/),
  })
}

export function expectSafeHeaders(headers: Record<string, string>): void {
  expect(headers["content-security-policy"]).toContain("default-src 'none'")
  expect(headers["content-security-policy"]).not.toContain("unsafe")
  expect(headers["x-content-type-options"]).toBe("nosniff")
  expect(headers["referrer-policy"]).toBe("no-referrer")
}

export interface ListedOperation {
  method: string
  path: string
  operation: Operation
}

/** Every operation of the document, including aliases. */
export function allOperations(): ListedOperation[] {
  const document = JSON.parse(readFileSync("schema/openapi.json", "utf8")) as OpenApiDocument
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      [path, ...(operation["x-aliases"] ?? [])].map((at) => ({
        method: method.toUpperCase(),
        path: at,
        operation,
      })),
    ),
  )
}
