import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { HistoryItem } from "../../src/index.ts"
import { type Child, startChild } from "../support/child-process.ts"
import { until } from "../support/run-scene.ts"
import { httpScene, messagesOf, token } from "../support/server/http-scene.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

interface Served extends AsyncDisposable {
  child: Child
  call(path: string, json?: unknown): Promise<Response>
}

/** A server process. The next process on the same data continues the work that this one leaves. */
async function serve(root: string, { drainMs, name }: { drainMs: number; name: string }): Promise<Served> {
  await mkdir(join(root, "project"), { recursive: true })
  const child = startChild("../server/safety-child.ts", {
    output: join(root, name),
    args: [join(root, "project"), join(root, "data"), token, String(drainMs)],
  })
  await child.ready
  const [{ url }] = child.lines<{ url: string }>() as [{ url: string }]
  return {
    child,
    call: (path, json) =>
      fetch(url + path, {
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(json !== undefined && { method: "POST", body: JSON.stringify(json) }),
      }),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  }
}

const sessionOf = async (served: Served) =>
  ((await (await served.call("/sessions", {})).json()) as { id: string }).id

async function typesOf(stream: Response): Promise<string[]> {
  const types: string[] = []
  for await (const { data } of messagesOf(stream)) types.push(data.type)
  return types
}

describe("SIGTERM", () => {
  test("lets running work end and be answered; new prompts get 503 until then, and reads still work", async () => {
    await using directory = await temporaryDirectory()
    await using served = await serve(directory.path, { drainMs: 20_000, name: "first" })
    const id = await sessionOf(served)
    const asked = served.call(`/sessions/${id}/ask`, { text: "wait 1500" })
    const received = typesOf(await served.call(`/sessions/${id}/event`))
    await until("it runs", async () => {
      const status = (await (await served.call(`/sessions/${id}/status`)).json()) as { type: string }
      return status.type === "busy"
    })
    served.child.process.kill("SIGTERM")
    await until("it is closing", async () => (await served.call("/readyz")).status === 503)
    const health = await served.call("/healthz")
    expect([health.status, await health.json()]).toEqual([
      200,
      expect.objectContaining({ status: "draining" }),
    ])
    const refused = await served.call(`/sessions/${id}/prompt`, { text: "Too late" })
    expect(refused.status).toBe(503)
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/)
    expect(await refused.json()).toMatchObject({ code: "unavailable" })
    for (const path of ["ask", "command", "compact", "shell"]) {
      const body = { ask: { text: "x" }, command: { name: "x" }, compact: {}, shell: { command: "true" } }[
        path
      ]
      expect((await served.call(`/sessions/${id}/${path}`, body)).status, path).toBe(503)
    }
    expect((await served.call(`/sessions/${id}/history`)).status).toBe(200)
    expect(await (await asked).json()).toMatchObject({ text: "The whole answer." })
    expect(await served.child.ended).toEqual({ code: 0, signal: null })
    expect(await received).toContain("session.idle")
    expect(served.child.errors()).toBe("")
  })

  test("ends the process in time even if a run continues, and the next process finishes the run", async () => {
    await using directory = await temporaryDirectory()
    const drainMs = 300
    let id: string
    {
      await using served = await serve(directory.path, { drainMs, name: "first" })
      id = await sessionOf(served)
      const accepted = await served.call(`/sessions/${id}/prompt`, { text: "wait 4000" })
      expect(accepted.status).toBe(202)
      const asked = served
        .call(`/sessions/${id}/ask`, { text: "and wait 4000" })
        .then((answer) => answer.text())
      asked.catch(() => {})
      const stream = await served.call(`/sessions/${id}/event`)
      await until("it runs", async () => {
        const status = (await (await served.call(`/sessions/${id}/status`)).json()) as { type: string }
        return status.type === "busy"
      })
      const startMs = performance.now()
      served.child.process.kill("SIGTERM")
      expect(await served.child.ended).toEqual({ code: 0, signal: null })
      // Two seconds on an idle machine.
      expect(performance.now() - startMs).toBeLessThan(drainMs + 10_000)
      for await (const _ of messagesOf(stream));
      expect(served.child.errors()).toBe("")
    }
    await using again = await serve(directory.path, { drainMs, name: "second" })
    await until("both are answered", async () => {
      const { items } = (await (await again.call(`/sessions/${id}/history`)).json()) as {
        items: HistoryItem[]
      }
      const answers = items.filter(({ message }) => message.role === "assistant" && message.finish === "stop")
      return (
        answers.length >= 1 &&
        items.every(({ sealed }) => sealed) &&
        items.at(-1)!.message.role === "assistant"
      )
    })
    const { items } = (await (await again.call(`/sessions/${id}/history`)).json()) as { items: HistoryItem[] }
    expect(items.filter(({ message }) => message.role === "user")).toHaveLength(2)
    // The first process did not wait for its answer.
    const cutOff = items.filter(
      ({ message }) => message.role === "assistant" && message.finish === "interrupted",
    )
    expect(cutOff.length).toBeGreaterThan(0)
    again.child.process.kill("SIGTERM")
    await again.child.ended
  })
})

describe("a closed server", () => {
  test("closes only once, closes immediately if nothing runs, and no longer listens", async () => {
    await using scene = await httpScene({ server: { drainMs: 30_000 } })
    const stream = await scene.call("/event")
    const startMs = performance.now()
    await Promise.all([scene.server.close(), scene.server.close()])
    expect(performance.now() - startMs).toBeLessThan(3000)
    for await (const _ of messagesOf(stream));
    await expect(scene.call("/healthz")).rejects.toThrow()
    await expect(scene.server.listen({ port: 0 })).rejects.toMatchObject({ code: expect.any(String) })
  })
})
